"""The mean time to data loss: the numbers of paper 001, and errors that say why."""

import pytest
import stripewise


@pytest.mark.parametrize(
    ("parity", "alpha", "years"),
    [(1, 1.0, 2858.2), (1, 0.5, 11431), (2, 1.0, 1.9054e7), (2, 0.37, 3.7609e8)],
)
def test_the_numbers_of_paper_001(parity, alpha, years):
    assert stripewise.mttdl_years(parity=parity, alpha=alpha) == pytest.approx(years, rel=5e-5)


def test_repairs_side_by_side_are_twice_as_fast_with_two_parities():
    single = stripewise.mttdl_years(parity=2)
    assert stripewise.mttdl_years(parity=2, repair="parallel") / single == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"parity": 8}, "at least 9 members"), ({"repair": "singel"}, "single"), ({"alpha": 0.0}, "above 0")],
)
def test_what_has_no_meaning_is_refused_with_the_reason(settings, says):
    with pytest.raises(stripewise.SettingError, match=says):
        stripewise.mttdl_years(**settings)
