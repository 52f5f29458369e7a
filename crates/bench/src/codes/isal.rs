//! Intel's ISA-L, loaded at run time (`apt install libisal2`), so that the project builds without it.
//!
//! Its functions: `isa-l/raid.h` and `isa-l/erasure_code.h`.
#![allow(unsafe_code)]

use std::ffi::c_int;

use anyhow::{Context, Result, ensure};
use libloading::Library;

// SAFETY: the caller passes as many members as the first argument states, each of the length of the second argument.
type Gen = unsafe extern "C" fn(c_int, c_int, *mut *mut u8) -> c_int;
// SAFETY: the caller passes columns, rows, as many coefficients, and 32 bytes for each coefficient.
type InitTables = unsafe extern "C" fn(c_int, c_int, *mut u8, *mut u8);
// SAFETY: the caller passes a length, columns, rows, tables for them, and matching numbers of sources and targets.
type Encode = unsafe extern "C" fn(c_int, c_int, c_int, *mut u8, *mut *mut u8, *mut *mut u8);
// SAFETY: as for `Encode`, but with one source and its index.
type Update = unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut u8, *mut u8, *mut *mut u8);
// SAFETY: the caller passes space for the rows and columns that the other arguments state.
type Matrix = unsafe extern "C" fn(*mut u8, c_int, c_int);
// SAFETY: the caller passes two square matrices with the number of rows in the last argument.
type Invert = unsafe extern "C" fn(*mut u8, *mut u8, c_int) -> c_int;

/// The library, and the measured functions.
pub(crate) struct Isal {
    xor_gen: Gen,
    pq_gen: Gen,
    ec_init_tables: InitTables,
    ec_encode_data: Encode,
    ec_encode_data_update: Update,
    gf_gen_rs_matrix: Matrix,
    gf_invert_matrix: Invert,
    _library: Library,
}

/// The coefficients for `ec_encode_data`, expanded.
pub(crate) struct Tables {
    bytes: Vec<u8>,
    sources: usize,
    rows: usize,
}

impl Isal {
    /// Loads the system's library.
    pub(crate) fn load() -> Result<Self> {
        // SAFETY: the library's initialisers only look at the processor; the types are those of its headers.
        unsafe {
            let library = Library::new("libisal.so.2").context("cannot load libisal.so.2")?;
            Ok(Self {
                xor_gen: *library.get(b"xor_gen")?,
                pq_gen: *library.get(b"pq_gen")?,
                ec_init_tables: *library.get(b"ec_init_tables")?,
                ec_encode_data: *library.get(b"ec_encode_data")?,
                ec_encode_data_update: *library.get(b"ec_encode_data_update")?,
                gf_gen_rs_matrix: *library.get(b"gf_gen_rs_matrix")?,
                gf_invert_matrix: *library.get(b"gf_invert_matrix")?,
                _library: library,
            })
        }
    }

    /// Sets the last of `members` to the sum of the others.
    pub(crate) fn xor_gen(&self, members: &mut Pointers) {
        // SAFETY: the members of `Pointers` have the same length, a multiple of 32, and addresses that are multiples
        // of 32.
        let failed = unsafe { (self.xor_gen)(members.count(), members.bytes, members.places.as_mut_ptr()) };
        assert_eq!(failed, 0, "xor_gen failed");
    }

    /// Sets the last two of `members` to P and Q of the others.
    pub(crate) fn pq_gen(&self, members: &mut Pointers) {
        // SAFETY: the members of `Pointers` have the same length, a multiple of 32, and addresses that are multiples
        // of 32.
        let failed = unsafe { (self.pq_gen)(members.count(), members.bytes, members.places.as_mut_ptr()) };
        assert_eq!(failed, 0, "pq_gen failed");
    }

    /// The matrix of P and Q: rows of the unit matrix for the data, one row for each parity.
    fn matrix(&self, data: usize, parity: usize) -> Vec<u8> {
        let mut matrix = vec![0; (data + parity) * data];
        // SAFETY: the matrix has as many bytes as the function writes.
        unsafe { (self.gf_gen_rs_matrix)(matrix.as_mut_ptr(), (data + parity) as c_int, data as c_int) };
        matrix
    }

    fn expand(&self, mut rows: Vec<u8>, sources: usize) -> Tables {
        let count = rows.len() / sources;
        let mut bytes = vec![0; 32 * rows.len()];
        // SAFETY: the tables have 32 bytes for each of the coefficients.
        unsafe {
            let (rows, tables) = (rows.as_mut_ptr(), bytes.as_mut_ptr());
            (self.ec_init_tables)(sources as c_int, count as c_int, rows, tables);
        }
        Tables { bytes, sources, rows: count }
    }

    /// The tables for encoding.
    pub(crate) fn encoding(&self, data: usize, parity: usize) -> Tables {
        self.expand(self.matrix(data, parity).split_off(data * data), data)
    }

    /// The tables for decoding the `lost` data members from `survivors`, whose number equals that of data members.
    pub(crate) fn decoding(
        &self,
        data: usize,
        parity: usize,
        survivors: &[usize],
        lost: &[usize],
    ) -> Result<Tables> {
        let matrix = self.matrix(data, parity);
        let mut kept: Vec<u8> =
            survivors.iter().flat_map(|&row| &matrix[row * data..(row + 1) * data]).copied().collect();
        let mut inverse = vec![0; data * data];
        let (from, to) = (kept.as_mut_ptr(), inverse.as_mut_ptr());
        // SAFETY: both are square matrices of `data` rows.
        let failed = unsafe { (self.gf_invert_matrix)(from, to, data as c_int) };
        ensure!(failed == 0, "gf_invert_matrix failed");
        let rows = lost.iter().flat_map(|&row| &inverse[row * data..(row + 1) * data]).copied().collect();
        Ok(self.expand(rows, data))
    }

    /// Sets the `targets` to the products of the matrix and the `sources`.
    pub(crate) fn ec_encode_data(&self, tables: &mut Tables, sources: &mut Pointers, targets: &mut Pointers) {
        assert!(sources.places.len() == tables.sources && targets.places.len() == tables.rows);
        assert_eq!(sources.bytes, targets.bytes);
        // SAFETY: the numbers of tables, sources and targets are as stated, and all members have the same length.
        unsafe {
            let (count, rows) = (tables.sources as c_int, tables.rows as c_int);
            let (from, to) = (sources.places.as_mut_ptr(), targets.places.as_mut_ptr());
            (self.ec_encode_data)(sources.bytes, count, rows, tables.bytes.as_mut_ptr(), from, to);
        }
    }

    /// Adds the change of source `index`, the only member of `change`, to the `targets`.
    pub(crate) fn ec_encode_data_update(
        &self,
        tables: &mut Tables,
        index: usize,
        change: &mut Pointers,
        targets: &mut Pointers,
    ) {
        assert!(index < tables.sources && targets.places.len() == tables.rows);
        assert_eq!(change.bytes, targets.bytes);
        // SAFETY: the numbers of tables and targets are as stated, and all members have the same length.
        unsafe {
            let (count, rows) = (tables.sources as c_int, tables.rows as c_int);
            let (from, to) = (change.places[0], targets.places.as_mut_ptr());
            let tables = tables.bytes.as_mut_ptr();
            (self.ec_encode_data_update)(change.bytes, count, rows, index as c_int, tables, from, to);
        }
    }
}

/// Members in ISA-L's form. They are borrowed for `'a`. A caller that creates two lists may name a member in both
/// only if the function allows source and target to be the same.
pub(crate) struct Pointers<'a> {
    places: Vec<*mut u8>,
    bytes: c_int,
    _members: std::marker::PhantomData<&'a mut [u8]>,
}

impl<'a> Pointers<'a> {
    /// The addresses of `members`.
    pub(crate) fn new(members: impl IntoIterator<Item = &'a mut [u8]>) -> Self {
        let members: Vec<&mut [u8]> = members.into_iter().collect();
        let bytes = members[0].len();
        assert!(bytes.is_multiple_of(32) && members.iter().all(|member| member.len() == bytes));
        assert!(members.iter().all(|member| member.as_ptr().addr().is_multiple_of(32)));
        let places = members.into_iter().map(<[u8]>::as_mut_ptr).collect();
        Self { places, bytes: bytes as c_int, _members: std::marker::PhantomData }
    }

    /// The same list with its last member also in front, for a sum that accumulates.
    pub(crate) fn with_last_in_front(mut self) -> Self {
        self.places.insert(0, *self.places.last().expect("there are members"));
        self
    }

    fn count(&self) -> c_int {
        self.places.len() as c_int
    }
}
