import ArgumentParser
import Envelope
import Foundation
import SQLiteStore
import Settings
import StatusCrypto
import Store

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup in the place of a server's database.",
        discussion: """
            The server has to be stopped, its key file has to be there, and no database may be where the backup goes. Pushes that waited \
            when the backup was made may have been sent since: they are tried again, and those older than an hour expire.
            """)

    /// What was accepted before it is old news on a phone.
    private static let pushLifetime = Duration.seconds(3_600)

    @Argument(help: "The backup, as `pushctl backup` made it; it stays as it is.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    private struct Restored: Encodable {
        var database: String
        var registrations: Int
        var uncertainPushes: Int
        var expiredPushes: Int
    }

    func run() async throws {
        let paths = try database.paths()
        let identity = try identity(paths.keyFile)
        guard FileManager.default.isReadableFile(atPath: file) else {
            throw Failure.configuration("\(file) is not there, or cannot be read.")
        }
        try checkThatNothingIsThere(paths.database)
        do {
            // From here on no server starts there.
            let lock = try InstanceLock(database: paths.database)
            defer { withExtendedLifetime(lock) {} }
            let copy = RestoredFile(replacing: paths.database)
            defer { copy.remove() }
            try copy.copy(from: file)
            let restored = try await settle(copy.path, identity, paths)
            try copy.takePlace()
            try output.print(restored) {
                [
                    "restored \(restored.database): \(restored.registrations) registrations",
                    "pushes that may have been sent since the backup, and are tried again: \(restored.uncertainPushes)",
                    "pushes older than an hour, which have expired: \(restored.expiredPushes)",
                ]
            }
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        }
    }

    private func identity(_ keyFile: String) throws(Failure) -> PrivateKey {
        do {
            if let key = try KeyFile(path: keyFile).load() { return key }
        } catch {
            throw .configuration(error.description)
        }
        throw .configuration(
            """
            There is no key file \(keyFile). A database serves one identity for ever, so put its key file back first; identity.keyFile in \
            the server's configuration (--config) says where.
            """)
    }

    private func checkThatNothingIsThere(_ path: String) throws(Failure) {
        for suffix in ["", "-wal"] {
            let size = try? FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int
            guard (size ?? 0) == 0 else {
                throw .configuration(
                    "\(path + suffix) is there. Stop the server and move \(path), \(path)-wal and \(path)-shm away; then try again.")
            }
        }
    }

    private func settle(_ path: String, _ key: PrivateKey, _ paths: ServerPaths) async throws -> Restored {
        let now = WallClock.system.now()
        do {
            let store = try SQLiteStore(path: path, identity: key.publicKey.compressed, logger: DatabaseOptions.silentLogger)
            let result = await Result {
                let pushes = try await store.settleRestoredPushes(acceptedBefore: now.advanced(by: .zero - Self.pushLifetime), at: now)
                let registrations = try await store.registrationCounts().live.values.reduce(0, +)
                return Restored(
                    database: paths.database, registrations: registrations, uncertainPushes: pushes.uncertainCount,
                    expiredPushes: pushes.expiredCount)
            }
            await store.close()
            return try result.get()
        } catch StoreError.otherIdentity {
            throw Failure.configuration(
                "\(file) belongs to another identity than the one in \(paths.keyFile). Put the key file back that it was made with.")
        } catch let error as StoreError {
            throw Failure(error, database: file)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// A database that is made ready beside the place it is for.
private struct RestoredFile {
    let path: String
    private let place: String

    init(replacing place: String) {
        self.place = place
        path = place + ".restored"
    }

    func copy(from file: String) throws(Failure) {
        remove()
        do {
            try FileManager.default.copyItem(atPath: file, toPath: path)
        } catch {
            throw .configuration("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// With the owner of its folder: as root one restores for a service that runs as somebody else.
    func takePlace() throws(Failure) {
        let folder = URL(filePath: place).deletingLastPathComponent().path()
        var owner = stat()
        if geteuid() == 0, unsafe stat(folder, &owner) == 0 { unsafe chown(path, owner.st_uid, owner.st_gid) }
        guard sync(path), unsafe rename(path, place) == 0, sync(folder) else {
            throw unsafe .configuration("\(place) cannot be written: \(String(cString: strerror(errno)))")
        }
        unsafe unlink(place + "-shm")
    }

    func remove() {
        for suffix in ["", "-wal", "-shm"] { unsafe unlink(path + suffix) }
    }

    private func sync(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        return descriptor >= 0 && fsync(descriptor) == 0
    }
}
