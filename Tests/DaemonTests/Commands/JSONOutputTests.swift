import Bytes
import Foundation
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The output of commands with `--json`, compared with the schemas of docs/JSON.md.
@Suite(.fewAtATime, .safetyNet)
struct JSONOutputTests {
    @Test func `each command prints JSON that matches its schema in JSON.md`() async throws {
        let schemas = try JSONSchema.documented()
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        let key = server.addresses.publicKey
        let environment = [
            "PUSHCTL_NODE": "http://\(server.addresses.relays[0])", "PUSHCTL_SERVER": key, "PUSHCTL_KEY_FILE": folder.path("alice.key"),
            "HOME": folder.path(""),
        ]
        var checked: Set<String> = []
        @discardableResult
        func check(_ name: String, _ arguments: [String], program: String = "pushctl", exitCode: Int32 = 0) async throws -> String {
            let ended = try await ChildProcess.run(program, arguments, environment: environment)
            #expect(ended.exitCode == exitCode, "\(name): \(ended.error)")
            let text = name == "error" ? ended.error.split(separator: "\n").last.map(String.init) ?? "" : ended.output
            for fault in try #require(schemas[name]).faults(in: text) { Issue.record("\(name): \(fault): \(text)") }
            checked.insert(name)
            return text
        }
        let database = ["--database", folder.path("push.sqlite"), "--json"]
        try await check("register", ["register", "--device-token", "token", "--token-type", "firebase", "--json"])
        let keys = try await check("keys", ["keys", "--json"])
        let alice = try #require(JSONDecoder().decode([String: JSONValue].self, from: Data(keys.utf8))["publicKey"]?.string)
        try await check("query", ["query", "--owner", alice, "--json"])
        try await check("push", ["push", "--to", alice, "--message-id", "abcd", "--json"])
        try await check("advertise", ["advertise", "--json"])
        try await check("watch", ["watch", "--since", "10m", "--for", "1ms", "--json"])
        try await check("doctor", ["doctor", "--admin", "http://\(server.addresses.admin)", "--json"])
        try await check(
            "conformance client",
            [
                "conformance", "client", "--own-node", "http://\(server.addresses.relays[0])", "--server-key-file",
                folder.path("identity.key"), "--for", "1ms", "--json",
            ])
        let cluster = try await TestDatabase.postgresql.settings()
        let member = try await ServerProcess.start(in: TemporaryFolder(), settings: cluster)
        try await check("cluster", ["cluster", "--all", "--database", cluster["storage.url"] ?? "", "--json"])
        try await check("audit", ["audit", "--database", cluster["storage.url"] ?? "", "--json"])
        #expect(await member.terminate() == 0)
        try await check("top", ["top", "--admin", "http://\(server.addresses.admin)", "--json"])
        try await check("conformance", ["conformance", "--only", "register.ios", "--only", "delivery.ios", "--json"])
        try await check("registrations", ["registrations"] + database)
        try await check("registrations --owner", ["registrations", "--owner", alice] + database)
        try await check("dead-tokens", ["dead-tokens"] + database)
        try await check("trace", ["trace", "--message", "abcd"] + database)
        try await check("pushes", ["pushes"] + database)
        try await check("hold", ["hold", "ios", "--for", "10m"] + database)
        try await check("resume", ["resume", "ios"] + database)
        try await check("audit", ["audit"] + database)
        try await check("unregister", ["unregister", "--json"])
        try await check("error", ["query", "--owner", alice, "--timeout", "10ms", "--json"], exitCode: 1)
        try await check("error", ["query", "--json"], exitCode: 64)
        try await check("error", ["query", "--owner", alice, "--node", "http://127.0.0.1:1", "--json"], exitCode: 69)
        try await check("error", ["audit", "--json", "--database", folder.path("none")], exitCode: 78)
        try await check("identity", ["identity", "--set", "identity.keyFile=\(folder.path("identity.key"))"], program: "pushserver")
        _ = try await ChildProcess.run("pushctl", ["backup", folder.path("backup"), "--database", folder.path("push.sqlite")])
        #expect(await server.terminate() == 0)
        try await check("forget", ["forget", "--owner", alice] + database)
        try FileManager.default.removeItem(atPath: folder.path("push.sqlite"))
        try folder.write("identity: { keyFile: identity.key }\nstorage: { path: push.sqlite }\n", to: "server.yaml")
        try await check("restore", ["restore", folder.path("backup"), "--config", folder.path("server.yaml"), "--json"])
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        try await check("migrate-store", ["migrate-store", "--to", url] + database)
        try await check("migrate-store --undo", ["migrate-store", "--undo"] + database)
        let imported = try ImportWorld()
        let fixture = try imported.fixture()
        let client = ProtocolClient(server: imported.server)
        for (number, keyHash) in [(1, client.keyHash.bytes), (2, [])] { try fixture.add(keyHash: keyHash, "\(number)", version: 1, nil) }
        try fixture.add(client, "unreadable", version: 1, [0xFF])
        var bracketed = client.registration()
        bracketed.accessToken = "[b6ae4fde-bb65-11ea-b3de-0242ac130004]"
        try fixture.add(client, bracketed)
        try fixture.close()
        try await check("import status-go", imported.arguments("other.db"))
        #expect(checked == Set(schemas.keys))
    }
}

/// The schema of a JSON value in JSON.md's notation.
private struct JSONSchema {
    private let form: JSONValue

    /// Reads the blocks ```` ```json NAME ```` of the page, by name.
    static func documented() throws -> [String: JSONSchema] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/JSON.md")
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```json ").dropFirst()
        return try Dictionary(
            uniqueKeysWithValues: blocks.map { block in
                let name = String(block.prefix { $0 != "\n" })
                let text = block.dropFirst(name.count).components(separatedBy: "```")[0]
                return (name, JSONSchema(form: try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))))
            })
    }

    /// Returns the differences between a command's output and the schema. `watch` prints one value on each line, other commands one value.
    func faults(in text: String) -> [String] {
        let texts = text.hasPrefix("{") && text.contains("}\n{") ? text.split(separator: "\n").map(String.init) : [text]
        return texts.flatMap { text in
            guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return ["no JSON"] }
            return Self.faults(of: value, form: form, at: "")
        }
    }

    private static func faults(of value: JSONValue, form: JSONValue, at path: String) -> [String] {
        switch (form, value) {
        case (.array(let forms), .array(let values)):
            return values.flatMap { value in forms.first.map { faults(of: value, form: $0, at: path + "[]") } ?? [] }
        case (.object(let forms), .object(let values)):
            let missing = forms.filter { name, form in
                !(form.string?.hasSuffix("?") ?? false) && !name.hasSuffix("?") && values[name] == nil
            }
            let known = values.flatMap { name, value in
                (forms[name] ?? forms[name + "?"]).map { faults(of: value, form: $0, at: "\(path).\(name)") } ?? [
                    "\(path).\(name) is not documented"
                ]
            }
            return missing.keys.map { "\(path).\($0) is missing" } + known
        case (.string(let type), let value):
            return value.isOfType(type.hasSuffix("?") ? String(type.dropLast()) : type) ? [] : ["\(path) is not of type \(type)"]
        default: return ["\(path) has another form"]
        }
    }
}

extension JSONValue {
    fileprivate func isOfType(_ type: String) -> Bool {
        switch (type, self) {
        case ("text", .string), ("boolean", .bool): true
        case ("number", .number(let number)): number >= 0 && number == number.rounded()
        case ("key", .string(let text)): text.wholeMatch(of: /0x04[0-9a-f]{128}/) != nil
        case ("compressed", .string(let text)): text.wholeMatch(of: /0x0[23][0-9a-f]{64}/) != nil
        case ("hash", .string(let text)): text.wholeMatch(of: /[0-9a-f]{128}/) != nil
        case ("hex", .string(let text)): text.wholeMatch(of: /[0-9a-f]*/) != nil
        case ("digits", .string(let text)): UInt64(text) != nil
        case ("instant", .string(let text)): text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil
        default: false
        }
    }
}
