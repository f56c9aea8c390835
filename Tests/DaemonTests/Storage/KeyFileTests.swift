import Bytes
import Foundation
import StatusCrypto
import TestSupport
import Testing

@testable import ServerFiles

/// Private files: their permissions, and the time of their sync.
@Suite(.safetyNet) struct KeyFileTests {
    private static let key = String(repeating: "7", count: 64)

    @Test(arguments: [0o400, 0o440, 0o444]) func `a credential is read with any mode, and no other file is`(mode: Int) throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.key + "\n", to: "identity", mode: mode)
        let path = folder.path("identity")
        let credentials = String(path.dropLast("/identity".count))
        for named in [credentials, credentials + "/"] {
            let file = PrivateFile(path: path, environment: ["CREDENTIALS_DIRECTORY": named])
            #expect(try KeyFile(file).load() != nil, "\(named)")
        }
        let strict = KeyFile(PrivateFile(path: path, environment: [:]))
        if mode == 0o400 {
            #expect(try strict.load() != nil)
        } else {
            #expect(throws: KeyFileError.self) { try strict.load() }
        }
    }

    @Test(arguments: ["/run", "/run/credentials/other", ""]) func `another folder's files are no credentials`(credentials: String) throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.key, to: "identity", mode: 0o444)
        let file = PrivateFile(path: folder.path("identity"), environment: ["CREDENTIALS_DIRECTORY": credentials])
        #expect(throws: KeyFileError.self) { try KeyFile(file).load() }
        let own = PrivateFile(path: file.path, environment: ["CREDENTIALS_DIRECTORY": String(file.path.dropLast("/identity".count))])
        #expect(try KeyFile(own).load() != nil)
    }

    @Test func `a missing credential is never created`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("identity")
        let file = PrivateFile(path: path, environment: ["CREDENTIALS_DIRECTORY": String(path.dropLast("/identity".count))])
        let error = #expect(throws: KeyFileError.self) { try KeyFile(file).loadOrCreate() }
        #expect(error?.description.contains("add LoadCredential=") == true)
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try KeyFile(PrivateFile(path: path, environment: [:])).loadOrCreate()
        #expect(FileManager.default.fileExists(atPath: path))
    }

    /// A recorder of synced files and of their permissions at that time.
    private final class Syncs: Sendable {
        let all = Condition<[(path: String, mode: Int)]>([])

        @Sendable func sync(_ descriptor: Int32) -> Int32 {
            let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
            let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
            all.change { $0.append((path, mode ?? 0)) }
            return fsync(descriptor)
        }
    }

    @Test(arguments: [false, true]) func `a private file is its owner's only from the first byte on, and its name is synced last`(
        replaces: Bool
    ) throws {
        let folder = try TemporaryFolder()
        if replaces { try folder.write("of before", to: "secret", mode: 0o644) }
        let syncs = Syncs()
        let path = folder.path("secret")
        try PrivateFile(path: path, environment: [:], sync: syncs.sync).write(Array("text".utf8), replaces: replaces)
        #expect(try PrivateFile(path: path, environment: [:]).read() == Array("text".utf8))
        let all = syncs.all.value
        #expect(all.count == 2 && all[0].mode == 0o600)
        #expect(all.first?.path.hasPrefix(path) == true && all.last?.path == String(path.dropLast("/secret".count)))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()) == ["secret"])
    }

    @Test func `an existing file stays unless it is to be replaced`() throws {
        let folder = try TemporaryFolder()
        try folder.write("of before", to: "secret")
        let file = PrivateFile(path: folder.path("secret"), environment: [:])
        try file.write(Array("text".utf8), replaces: false)
        #expect(try file.read() == Array("of before".utf8))
    }

    @Test func `a write that cannot be synced leaves nothing behind`() throws {
        let folder = try TemporaryFolder()
        let file = PrivateFile(path: folder.path("secret"), environment: [:], sync: { _ in -1 })
        #expect(throws: PrivateFileError.self) { try file.write(Array("text".utf8), replaces: true) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()).isEmpty)
    }
}
