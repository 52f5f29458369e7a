//! Stripewise: flash.
