import Foundation

/// The files of another server's SQLite database, which are only read. They are opened before a tool drops root's rights.
struct SourceFiles {
    /// The write-ahead log may have the newest rows, also after its server has stopped. A rollback journal belongs to a database that was
    /// killed in a transaction.
    private static let suffixes = ["", "-wal", "-journal"]

    /// The database's real path. SQLite puts the remaining files next to it, even if links lead there.
    private let path: String
    private let files: [(suffix: String, file: FileHandle)]

    /// Opens the files.
    ///
    /// - Throws: ``Failure`` when any of them cannot be read, or when the first is not an unencrypted database.
    init(path: String) throws(Failure) {
        let path = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        self.path = path
        var files: [(suffix: String, file: FileHandle)] = []
        for suffix in Self.suffixes where suffix.isEmpty || FileManager.default.fileExists(atPath: path + suffix) {
            files.append((suffix, try FileHandle(readingRegularFile: path + suffix)))
        }
        self.files = files
        try checkHeader()
    }

    /// Copies the files into a prepared database.
    ///
    /// - Throws: ``Failure`` when another process has the database open, because a copy of a changing file can be torn.
    func copy(to copy: PreparedFile, report: Progress.Report) throws(Failure) {
        try checkThatNoProcessHasItOpen()
        for (suffix, file) in files {
            try copy.fill(
                try copy.create(suffix: suffix), from: file, byteCount: FileGrowth.size(of: path + suffix) ?? 0, report: report)
        }
        try checkThatNoProcessHasItOpen()
    }

    private func checkHeader() throws(Failure) {
        let magic = Data("SQLite format 3\0".utf8)
        let header: Data
        do {
            header = try files[0].file.read(upToCount: magic.count) ?? Data()
            try files[0].file.seek(toOffset: 0)
        } catch {
            throw .configuration("\(path) cannot be read: \(error.localizedDescription)")
        }
        guard !header.isEmpty else { throw .configuration("\(path) is empty.") }
        guard header == magic else { throw .encrypted(path) }
    }

    /// A process that has a database in WAL mode open holds a shared lock on it (https://www.sqlite.org/src/doc/trunk/src/os.h,
    /// `SHARED_FIRST`), which keeps a writer's lock away.
    private func checkThatNoProcessHasItOpen() throws(Failure) {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0000
        lock.l_len = 512
        guard unsafe fcntl(files[0].file.fileDescriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return }
        throw .configuration(
            "\(path): process \(lock.l_pid) has the database open. Stop that server first, and keep it from starting again.")
    }
}

extension Failure {
    /// Creates the failure for a database that only SQLCipher can read (STATUS_GO_DATABASE.md §4).
    fileprivate static func encrypted(_ path: String) -> Failure {
        .configuration(
            """
            \(path) is encrypted, or no SQLite database. A Status app encrypts its database. Decrypt it with sqlcipher 4, then import \
            plain.db:
              sqlcipher '\(path)'
              PRAGMA key='PASSPHRASE'; PRAGMA cipher_page_size=8192; PRAGMA kdf_iter=3200;
              PRAGMA cipher_hmac_algorithm=HMAC_SHA1; PRAGMA cipher_kdf_algorithm=PBKDF2_HMAC_SHA1;
              ATTACH DATABASE 'plain.db' AS plain KEY ''; SELECT sqlcipher_export('plain'); DETACH DATABASE plain;
            PASSPHRASE is usually 0x and the hex digits of keccak256(password). Releases before 0.158.0 have cipher_page_size=1024.
            """)
    }
}
