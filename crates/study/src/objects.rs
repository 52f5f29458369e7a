//! A store in a bucket of S3, Google Cloud Storage or Azure, by the crate `object_store`.
//!
//! A pack is put only where there is none of its name. If the answer to a put is lost, the next attempt finds the pack there:
//! equal bytes are those of the put that won. Packs that were read are kept in the cache of the user, because their names say
//! what their bytes are; the cache may be removed at any time.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, Error as ObjectError, ObjectMeta, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme,
    PutMode, RetryConfig, WriteMultipart,
};
use stripewise_results::shared;
use stripewise_runs::cache_folder;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::error::Error;
use crate::folder::Folder;
use crate::media::{FILE_BYTES, Media, Moment, PACK_BYTES, Write};
use crate::pack;
use crate::row::hex;

/// How long a request that fails is tried again, beside the attempts of `object_store` itself.
const PATIENCE: Duration = Duration::from_secs(60);
/// Packs that are read at a time.
const READ_AT_A_TIME: usize = 8;
/// Larger files are written in parts.
const PART_BYTES: usize = 16 << 20;

/// A bucket, or what is in it under a prefix.
pub(crate) struct Objects {
    root: String,
    prefix: Key,
    store: Box<dyn ObjectStore>,
    runtime: Mutex<Runtime>,
    /// Where packs are kept that were read; none where the user has no folder.
    cache: Option<PathBuf>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Objects {
    /// The store at a URL such as `s3://bucket/prefix`. Credentials and settings are in the environment variables that the
    /// programs of each vendor read, such as `AWS_ACCESS_KEY_ID`.
    pub(crate) fn open(root: &str) -> Result<Self, Error> {
        let refuse = |what: &dyn fmt::Display| Error::Spec(format!("{root}: {what}"));
        let url = Url::parse(root).map_err(|error| refuse(&error))?;
        let forms = "a store is a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX";
        let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|_| refuse(&forms))?;
        // Another part of the process may have chosen one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
            ..BackoffConfig::default()
        };
        let retry = RetryConfig { backoff, max_retries: 5, retry_timeout: PATIENCE };
        let store = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::from_env().with_url(root).with_retry(retry).build();
                builder.map(|store| Box::new(store) as Box<dyn ObjectStore>)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(root).with_retry(retry).build();
                builder.map(|store| Box::new(store) as Box<dyn ObjectStore>)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(root).with_retry(retry).build();
                builder.map(|store| Box::new(store) as Box<dyn ObjectStore>)
            }
            _ => return Err(refuse(&forms)),
        };
        let store = store.map_err(|error| refuse(&error))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::io(Path::new(root), "start the requests"))?;
        let name = hex(&blake3::hash(root.as_bytes()).as_bytes()[..8]);
        let cache = cache_folder().map(|cache| cache.join("packs").join(name));
        Ok(Self { root: root.to_owned(), prefix, store, runtime: Mutex::new(runtime), cache })
    }

    /// The key of a file of the store.
    fn key(&self, path: &Path) -> Key {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let parts = inner.iter().map(|part| part.to_string_lossy().into_owned());
        parts.fold(self.prefix.clone(), |key, part| key.join(part))
    }

    fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.lock().unwrap_or_else(PoisonError::into_inner).block_on(what)
    }

    /// All objects below a folder, page after page.
    fn all(&self, folder: &Path) -> Result<Vec<ObjectMeta>, Error> {
        let key = self.key(folder);
        let list = || self.store.list(Some(&key)).try_collect::<Vec<_>>();
        self.wait(patiently(list)).map_err(explain(folder, "list the objects"))
    }

    /// The bytes of an object that has at most `most`: its size comes before its bytes.
    async fn get(&self, key: &Key, most: u64) -> Result<Bytes, ObjectError> {
        patiently(|| async {
            let found = self.store.get(key).await?;
            if found.meta.size > most {
                let message = format!("it has {} bytes; this kind has at most {most}", found.meta.size);
                return Err(ObjectError::NotSupported { source: message.into() });
            }
            found.bytes().await
        })
        .await
    }

    /// Writes the first `most` bytes of an object to a file.
    async fn download(&self, key: &Key, most: u64, to: &File) -> Result<(), UploadError> {
        let found = self.store.get(key).await?;
        let (mut pieces, mut left, mut to) = (found.into_stream(), most, to);
        to.rewind()?;
        to.set_len(0)?;
        while left > 0 {
            let Some(piece) = pieces.next().await else { break };
            let piece = piece?;
            let taken = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            to.write_all(&piece[..taken])?;
            left -= taken as u64;
        }
        Ok(())
    }

    /// Puts an object where there is none.
    async fn put_new(&self, key: &Key, bytes: &Bytes) -> Result<Created, ObjectError> {
        let began = Instant::now();
        loop {
            let put = || self.store.put_opts(key, bytes.clone().into(), PutMode::Create.into());
            match patiently(put).await {
                Ok(_) => return Ok(Created::Ours),
                Err(ObjectError::AlreadyExists { .. }) => {}
                Err(error) => return Err(error),
            }
            match self.get(key, FILE_BYTES).await {
                Ok(there) if there == *bytes => return Ok(Created::Ours),
                Ok(there) => return Ok(Created::Other(there)),
                // Two puts at a time refuse each other on S3, or another command has joined the pack to a larger one.
                Err(ObjectError::NotFound { .. }) if began.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a pack and keeps it. A pack that came with wrong bytes is read again.
    async fn fetch(&self, path: &Path) -> Result<Bytes, ObjectError> {
        let key = self.key(path);
        let mut bytes = self.get(&key, PACK_BYTES).await?;
        for _ in 0..3 {
            if is_whole(path, &bytes) {
                self.keep(path, &bytes);
                break;
            }
            bytes = self.get(&key, PACK_BYTES).await?;
        }
        Ok(bytes)
    }

    fn kept(&self, path: &Path) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join(path.file_name()?))
    }

    /// Keeps a pack in the cache. Where that fails, it is read from the store again next time.
    fn keep(&self, path: &Path, bytes: &Bytes) {
        if let Some(kept) = self.kept(path) {
            let _ = shared::replace_own(&kept, bytes);
        }
    }

    async fn upload(&self, key: &Key, mut file: &File, bytes: u64) -> Result<(), UploadError> {
        file.rewind()?;
        if bytes <= PART_BYTES as u64 {
            let mut whole = Vec::with_capacity(bytes as usize);
            file.read_to_end(&mut whole)?;
            let whole = Bytes::from(whole);
            patiently(|| self.store.put(key, whole.clone().into())).await?;
            return Ok(());
        }
        let mut parts = WriteMultipart::new_with_chunk_size(self.store.put_multipart(key).await?, PART_BYTES);
        let mut part = vec![0; PART_BYTES];
        loop {
            let read = file.read(&mut part)?;
            if read == 0 {
                parts.finish().await?;
                return Ok(());
            }
            parts.wait_for_capacity(2).await?;
            parts.write(&part[..read]);
        }
    }
}

/// What a put of an object found.
enum Created {
    /// The object is there.
    Ours,
    /// There are other bytes under its name.
    Other(Bytes),
}

/// Why a file was not copied.
enum UploadError {
    Object(ObjectError),
    Read(io::Error),
}

impl From<ObjectError> for UploadError {
    fn from(error: ObjectError) -> Self {
        Self::Object(error)
    }
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Makes a request again and again while it may succeed.
async fn patiently<T, F: Future<Output = Result<T, ObjectError>>>(
    request: impl Fn() -> F,
) -> Result<T, ObjectError> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(50));
    loop {
        match request().await {
            Err(error) if may_pass(&error) && began.elapsed() < PATIENCE => tokio::time::sleep(pause).await,
            done => return done,
        }
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

/// Whether a request that failed so may succeed later: a server that is busy, a connection that was cut, an answer that did
/// not come. Other errors have a kind of their own, or the status of a wrong request.
fn may_pass(error: &ObjectError) -> bool {
    let ObjectError::Generic { source, .. } = error else { return false };
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(source.as_ref());
    while let Some(error) = source {
        if error.to_string().contains("non-2xx status code: 4") {
            return false;
        }
        source = error.source();
    }
    true
}

fn explain(path: &Path, doing: &'static str) -> impl FnOnce(ObjectError) -> Error {
    let path = path.to_owned();
    move |error| {
        let kind = match error {
            ObjectError::NotFound { .. } => io::ErrorKind::NotFound,
            ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
                io::ErrorKind::PermissionDenied
            }
            _ => io::ErrorKind::Other,
        };
        Error::Io { path, doing, source: io::Error::new(kind, error) }
    }
}

/// Whether a pack has the bytes that its name says.
fn is_whole(path: &Path, bytes: &[u8]) -> bool {
    path.file_stem().and_then(|stem| stem.to_str()) == Some(&pack::name(bytes))
}

impl Media for Objects {
    fn place(&self, _root: &Path) -> String {
        self.root.clone()
    }

    fn list(&self, folder: &Path, ending: &str) -> Result<Vec<(PathBuf, u64)>, Error> {
        let (key, found) = (self.key(folder), self.all(folder)?);
        let file = |object: &ObjectMeta| {
            // The key of an object in a folder within this one has more parts, and another place than its last part says.
            let mut parts = object.location.prefix_match(&key)?;
            let (name, None) = (parts.next()?, parts.next()) else { return None };
            let path = folder.join(name.as_ref());
            path.extension().is_some_and(|it| it == ending).then_some((path, object.size))
        };
        let named = found.iter().filter_map(file);
        let mut named: Vec<_> = named.collect();
        named.sort();
        Ok(named)
    }

    fn prefetch(&self, packs: &[PathBuf]) -> Result<(), Error> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let mut kept: Vec<PathBuf> =
            Folder.list(cache, "parquet")?.into_iter().map(|(path, _)| path).collect();
        let mut missing = Vec::new();
        for pack in packs {
            match self.kept(pack).and_then(|path| kept.iter().position(|it| *it == path)) {
                Some(at) => drop(kept.swap_remove(at)),
                None => missing.push(pack),
            }
        }
        // Packs that were joined to others since.
        kept.iter().try_for_each(|path| Folder.remove(path))?;
        let fetch = |path: &PathBuf| {
            let path = path.clone();
            async move {
                match self.fetch(&path).await {
                    // The reader finds a pack that is gone by itself.
                    Err(ObjectError::NotFound { .. }) => Ok(()),
                    fetched => fetched.map(|_| ()).map_err(explain(&path, "read the object")),
                }
            }
        };
        let all = stream::iter(missing).map(fetch).buffer_unordered(READ_AT_A_TIME);
        self.wait(all.try_collect::<Vec<()>>()).map(|_| ())
    }

    fn list_below(&self, root: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
        let (key, found) = (self.key(root), self.all(root)?);
        let below = |object: &ObjectMeta| {
            let mut parts = object.location.prefix_match(&key)?;
            let (folder, file) = (parts.next()?, parts.next()?);
            (file.as_ref() == name && parts.next().is_none()).then(|| root.join(folder.as_ref()).join(name))
        };
        let mut found: Vec<PathBuf> = found.iter().filter_map(below).collect();
        found.sort();
        Ok(found)
    }

    fn read_at_most(&self, path: &Path, most: u64) -> Result<Bytes, Error> {
        self.wait(self.get(&self.key(path), most)).map_err(explain(path, "read the object"))
    }

    fn copy(&self, path: &Path, most: u64, to: &mut File) -> Result<(), Error> {
        let (key, to) = (self.key(path), &*to);
        let began = Instant::now();
        loop {
            match self.wait(self.download(&key, most, to)) {
                // The file is written from its beginning again.
                Err(UploadError::Object(error)) if may_pass(&error) && began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_secs(1));
                }
                Err(UploadError::Object(error)) => return Err(explain(path, "read the object")(error)),
                Err(UploadError::Read(error)) => return Err(Error::io(path, "write a copy")(error)),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn read_pack(&self, path: &Path) -> Result<Bytes, Error> {
        let kept = self.kept(path).and_then(|kept| shared::read_own(&kept, PACK_BYTES).ok());
        if let Some(bytes) = kept.filter(|bytes| is_whole(path, bytes)) {
            return Ok(bytes.into());
        }
        self.wait(self.fetch(path)).map_err(explain(path, "read the object"))
    }

    fn create(&self, path: &Path, bytes: &Bytes) -> Result<Option<Bytes>, Error> {
        match self.wait(self.put_new(&self.key(path), bytes)).map_err(explain(path, "write the object"))? {
            Created::Ours => Ok(None),
            Created::Other(there) => Ok(Some(there)),
        }
    }

    fn put_pack(&self, path: &Path, bytes: Vec<u8>, at: &dyn Fn(Moment)) -> Result<(), Error> {
        at(Moment::Written);
        let bytes = Bytes::from(bytes);
        if self.create(path, &bytes)?.is_some() {
            let message = "this pack of runs is damaged: its name is not the digest of its bytes; remove it";
            return Err(Error::Pack { path: path.to_owned(), message: message.to_owned() });
        }
        at(Moment::Renamed);
        self.keep(path, &bytes);
        at(Moment::Committed);
        Ok(())
    }

    fn replace(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        let (key, bytes) = (self.key(path), Bytes::from(bytes));
        let put = self.wait(patiently(|| self.store.put(&key, bytes.clone().into())));
        put.map(|_| ()).map_err(explain(path, "write the object"))
    }

    fn write(&self, path: &Path, write: Write<'_>) -> Result<(), Error> {
        let file = tempfile::tempfile().map_err(Error::io(path, "make a temporary file"))?;
        let file = write(file)?;
        let bytes = file.metadata().map_err(Error::io(path, "see the size of a temporary file"))?.len();
        self.wait(self.upload(&self.key(path), &file, bytes)).map_err(|error| match error {
            UploadError::Object(error) => explain(path, "write the object")(error),
            UploadError::Read(error) => Error::io(path, "read a temporary file")(error),
        })
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        let key = self.key(path);
        match self.wait(patiently(|| self.store.delete(&key))) {
            Err(error) if !matches!(error, ObjectError::NotFound { .. }) => {
                Err(explain(path, "remove the object")(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn bucket(cache: Option<PathBuf>) -> Objects {
        let runtime = Mutex::new(Builder::new_current_thread().enable_all().build().unwrap());
        let store = Box::new(InMemory::new());
        Objects { root: "s3://b/p".to_owned(), prefix: Key::from("p"), store, runtime, cache }
    }

    fn put(bucket: &Objects, key: &str, bytes: usize) {
        bucket.wait(bucket.store.put(&Key::from(key), vec![7; bytes].into())).unwrap();
    }

    #[test]
    fn keys_within_folders_of_a_folder_are_not_in_it() {
        let bucket = bucket(None);
        for key in ["p/runs/a.parquet", "p/runs/deep/b.parquet", "p/runs/c.txt", "p/errors/d.parquet"] {
            put(&bucket, key, 3);
        }
        let found = bucket.list(Path::new("s3://b/p/runs"), "parquet").unwrap();
        assert_eq!(found, [(PathBuf::from("s3://b/p/runs/a.parquet"), 3)]);
    }

    #[test]
    fn objects_beyond_the_size_of_their_kind_are_refused_by_their_size() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket(Some(folder.path().join("cache")));
        put(&bucket, "p/errors/a.json", 100);
        let path = Path::new("s3://b/p/errors/a.json");
        assert_eq!(bucket.read_at_most(path, 100).unwrap().len(), 100);
        let error = bucket.read_at_most(path, 99).unwrap_err();
        assert!(error.to_string().contains("read the object"), "{error}");
        let mut copy = tempfile::tempfile().unwrap();
        bucket.copy(path, 60, &mut copy).unwrap();
        assert_eq!(copy.metadata().unwrap().len(), 60);
    }
}
