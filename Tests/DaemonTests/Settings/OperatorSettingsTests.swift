import Foundation
import ServerFiles
import TestSupport
import Testing

@testable import Settings

/// Which settings an operator's command goes by (INTERFACE.md, "Settings").
@Suite(.fewAtATime)
struct OperatorSettingsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("storage: { path: /service.sqlite }\nadmin: { listen: 127.0.0.1:1 }\n", to: "pushserver.yaml")
        try folder.write("storage: { path: /other.sqlite }\n", to: "other.yaml")
    }

    private func service(_ file: String = "pushserver.yaml", unit: String? = nil) -> InstalledService {
        InstalledService(configurationFile: folder.path(file)) { () throws(SettingsError) in unit }
    }

    private func find(
        _ file: String? = nil, database: String? = nil, environment: [String: String] = [:], in service: InstalledService?
    ) throws(SettingsError) -> OperatorSettings {
        try OperatorSettings(file: file, database: database, environment: environment.merging(["HOME": "/home"]) { $1 }, service: service)
    }

    @Test func `the service's file is read if nobody names another, and not by a command that asks for its target`() throws {
        let found = try find(in: service())
        #expect(found.paths.database == "/service.sqlite" && found.source.adminURL == "http://127.0.0.1:1")
        #expect(found.origin == folder.path("pushserver.yaml") && found.areNamed)
        for named in [
            try find(folder.path("other.yaml"), in: service()),
            try find(environment: ["PUSHSERVER_CONFIG": folder.path("other.yaml")], in: service()),
        ] {
            #expect(named.paths.database == "/other.sqlite" && named.origin == folder.path("other.yaml"))
        }
        #expect(try find(database: "/copy", in: service()).paths.database == "/copy")
        #expect(try find(database: "/copy", in: service()).source.adminURL == "http://127.0.0.1:8646")
        for none in [
            try find(in: nil), try find(in: service("none.yaml")), try find(environment: ["PUSHSERVER_CONFIG": ""], in: service()),
        ] {
            #expect(none.paths.database == "/home/.local/state/pushserver/pushserver.sqlite")
            #expect(none.origin == "defaults" && !none.areNamed)
        }
    }

    @Test func `variables of the shell win over those of the unit, and these over the file`() throws {
        try folder.write(
            """
            # PUSHSERVER_STORAGE_PATH=/comment
            PUSHSERVER_STORAGE_PATH="/of a file"
              PUSHSERVER_GORUSH_URL = 'http://a\\b'
            PUSHSERVER_ADMIN_LISTEN=127.0.0.1:\\
            2
            HOME=/unit
            PUSHSERVER_CONFIG=/another.yaml
            """, to: "default")
        let unit = """
            Environment=MALLOC_ARENA_MAX=2 PUSHSERVER_STORAGE_PATH=/unit "PUSHSERVER_IDENTITY_KEY_FILE=/a \\"key\\"" \
            PUSHSERVER_LOG_LEVEL=debug
            EnvironmentFiles=\(folder.path("default")) (ignore_errors=yes)
            EnvironmentFiles=\(folder.path("missing")) (ignore_errors=yes)
            StateDirectory=pushserver
            """
        let found = try find(environment: ["PUSHSERVER_LOG_LEVEL": "error"], in: service(unit: unit))
        #expect(found.paths.database == "/of a file" && found.paths.keyFile == "/a \"key\"")
        #expect(found.source.adminURL == "http://127.0.0.1:2")
        #expect(found.source.find("log.level")?.value.text == "error" && found.source.find("gorush.url")?.value.text == #"http://a\b"#)
        #expect(
            found.origin == """
                \(folder.path("pushserver.yaml")), PUSHSERVER_LOG_LEVEL, with PUSHSERVER_ADMIN_LISTEN, PUSHSERVER_GORUSH_URL, \
                PUSHSERVER_IDENTITY_KEY_FILE, PUSHSERVER_STORAGE_PATH, STATE_DIRECTORY of pushserver.service
                """)
        try folder.write("", to: "empty.yaml")
        #expect(
            try find(in: service("empty.yaml", unit: "StateDirectory=pushserver")).paths.database == "/var/lib/pushserver/pushserver.sqlite"
        )
        // Whoever names the service's file means the service. Another file's server is not the unit's.
        let file = folder.path("pushserver.yaml")
        #expect(try find(file, in: service(unit: unit)).paths.database == "/of a file")
        #expect(try find(environment: ["PUSHSERVER_CONFIG": file], in: service(unit: unit)).paths.database == "/of a file")
        #expect(try find(folder.path("other.yaml"), in: service(unit: unit)).paths.database == "/other.sqlite")
    }

    @Test(arguments: [
        ("folder", nil, "expected a file, found a folder"), ("broken.yaml", nil, "not YAML"),
        ("pushserver.yaml", "EnvironmentFiles=FOLDER/missing (ignore_errors=no)", "No such file"),
        ("pushserver.yaml", "EnvironmentFiles=FOLDER (ignore_errors=yes)", "not a regular file"),
        ("pushserver.yaml", "EnvironmentFiles=FOLDER/*.env (ignore_errors=yes)", "is a pattern"),
    ])
    func `settings of the service that cannot be read are an error, and no others are tried`(
        file: String, unit: String?, problem: String
    ) throws {
        try FileManager.default.createDirectory(atPath: folder.path("folder"), withIntermediateDirectories: false)
        try folder.write("storage: [\n", to: "broken.yaml")
        let unit = unit?.replacing("FOLDER", with: folder.path(""))
        let error = #expect(throws: SettingsError.self) { try find(in: service(file, unit: unit)) }
        let text = try #require(error).description
        #expect(text.contains(problem) && text.contains("the settings of the server on this machine"), "\(text)")
        #expect(text.contains("run this as root") == (geteuid() != 0))
    }
}
