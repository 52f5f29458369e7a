//! Member files in a temporary folder, and a look at their bytes past the engine.

use std::path::PathBuf;

use stripewise_array::geometry::Geometry;
use stripewise_array::{Members, Scheme};
use stripewise_engine::MemberFile;
use tempfile::TempDir;

/// The files of an array. They are removed when this value is dropped.
pub struct Media {
    folder: TempDir,
    pub count: u32,
    pub pages: u32,
    pub page_bytes: u32,
}

impl Media {
    /// Files of zeros. For speed they are not made durable, as [`MemberFile::create`] does.
    pub fn new(count: u32, pages: u32, page_bytes: u32) -> Self {
        let media = Self { folder: tempfile::tempdir().unwrap(), count, pages, page_bytes };
        for path in media.paths() {
            let file = std::fs::File::create(path).unwrap();
            file.set_len(u64::from(pages) * u64::from(page_bytes)).unwrap();
        }
        media
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        (0..self.count).map(|index| self.folder.path().join(format!("member{index}"))).collect()
    }

    pub fn open(&self) -> Vec<MemberFile> {
        MemberFile::open_all(&self.paths(), self.page_bytes).unwrap()
    }

    pub fn geometry(&self, scheme: &Scheme) -> Geometry {
        let members = Members::opaque(self.count, self.page_bytes, self.pages);
        scheme.resolve(&members, true).unwrap()
    }

    /// All files' bytes.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        self.paths().iter().map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// Checks that the parity of every row matches its data, on the files themselves.
    pub fn check_parity(&self, scheme: &Scheme) {
        let geometry = self.geometry(scheme);
        if geometry.parity() == 0 {
            return;
        }
        let contents = self.contents();
        let code = scheme.code(&geometry, self.page_bytes).unwrap().unwrap();
        for row in geometry.all_rows() {
            let place = geometry.place(row);
            let start = place.page as usize * self.page_bytes as usize;
            let page = |column| {
                &contents[geometry.member(place, column).index()][start..start + self.page_bytes as usize]
            };
            let mut data = vec![&[][..]; geometry.data as usize];
            for column in 0..geometry.data {
                data[geometry.code_index(place, column) as usize] = page(column);
            }
            let mut expected = vec![vec![0; self.page_bytes as usize]; geometry.parity() as usize];
            let mut targets: Vec<&mut [u8]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
            code.encode(&data, &mut targets);
            for (column, expected) in (geometry.data..).zip(&expected) {
                assert!(
                    page(column) == expected,
                    "member {column} of row {row} is not the parity of its data"
                );
            }
        }
    }

    /// The array's bytes as they lie on the files of an in-place array.
    pub fn assemble(&self, scheme: &Scheme) -> Vec<u8> {
        let geometry = self.geometry(scheme);
        let contents = self.contents();
        let page_bytes = self.page_bytes as usize;
        let mut bytes = vec![0; geometry.pages() as usize * page_bytes];
        for row in geometry.all_rows() {
            let place = geometry.place(row);
            for column in 0..geometry.data {
                let to = geometry.array_page(row, column) as usize * page_bytes;
                let from = place.page as usize * page_bytes;
                let member = &contents[geometry.member(place, column).index()];
                bytes[to..to + page_bytes].copy_from_slice(&member[from..from + page_bytes]);
            }
        }
        bytes
    }
}
