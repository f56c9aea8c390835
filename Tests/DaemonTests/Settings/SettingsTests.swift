import Foundation
import TestSupport
import Testing

@testable import Settings

/// The errors of `check-config` for wrong configurations: the location, the value found, and the remedy.
@Suite(.fewAtATime)
struct SettingsTests {
    struct Case: CustomTestStringConvertible {
        let yaml: String
        let problem: String

        var testDescription: String { problem }
    }

    @Test(arguments: [(nil, nil, 0), (nil, "", 0), (nil, "2", 2), ("1", nil, 1), ("1", "", 1), ("1", "2", 1)] as [(String?, String?, Int)])
    func `the named configuration file counts before the environment's`(named: String?, inEnvironment: String?, read: Int) throws {
        let folder = try TemporaryFolder()
        for number in ["1", "2"] {
            try "log: { level: \(number) }\n".write(toFile: folder.path(number), atomically: true, encoding: .utf8)
        }
        let source = try SettingsSource(
            file: named.map(folder.path),
            environment: inEnvironment.map { [SettingsSource.configurationFileVariable: $0.isEmpty ? "" : folder.path($0)] } ?? [:])
        #expect(source.find("log.level")?.value == (read == 0 ? nil : .scalar("\(read)")))
    }

    @Test(arguments: [
        // Numbers to base 60, and aliases: a parser of YAML may compute with the former, and follow the latter.
        Case(
            yaml: "gorush:\n  timeout: 190:20:30:40:50:60:70:80:90:99:99:99:99:99:99:99\n",
            problem: """
                gorush.timeout: expected a duration like 500ms, 5s, 10m or 24h, from 1s to 10m, found \
                190:20:30:40:50:60:70:80:90:99:99:99:99:99:99:99 (FILE, line 2)
                """),
        Case(yaml: "gorush: &g\n  url: http://x\n*g : 3\n", problem: "the file: a key is not text in FILE, line 1"),
        Case(yaml: "log: { level: *unknown }\n", problem: "FILE: not YAML: found undefined alias (line 1)"),
        Case(
            yaml: "log:\n  level: loud\n",
            problem: "log.level: expected one of trace, debug, info, notice, warning, error, critical, found loud (FILE, line 2)"),
        Case(
            yaml: "gorush: http://127.0.0.1:8088\n",
            problem: "gorush: expected a section with settings like gorush.apnsEnvironment, found a single value (FILE, line 1)"),
        Case(yaml: "log:\n  level:\n    all: info\n", problem: "log.level: expected a value, found a section (FILE, line 3)"),
        Case(yaml: "log:\n  levle: info\n", problem: "log.levle: no such setting in FILE, line 2; is log.level meant?"),
        Case(
            yaml:
                "storage:\n  backup:\n    folder: /no\n    recipients: [age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26hq]\n",
            problem: """
                storage.backup.recipients: expected a list of public keys of age, like age1…, found \
                [age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26hq] (FILE, line 4)
                """),
        Case(yaml: "surprise: 1\n", problem: "surprise: no such setting in FILE, line 1"),
        Case(
            yaml: "gorush:\n  feedbackSecret: x\n",
            problem: "gorush.feedbackSecret: no such setting in FILE, line 2; delete it, and core.feedback_hook_url in gorush's "
                + "configuration: a gorush in sync mode reports failures in its responses"),
        Case(
            yaml: "gorush:\n  texts: { message: x }\n",
            problem: "gorush.texts.message: no such setting in FILE, line 2; gorush.types.message.text replaces it"),
        Case(
            yaml: "gorush: { routes: { a: { apnTopics: [b], locKeys: { mention: x } } } }\n",
            problem: "gorush.routes.a.locKeys.mention: no such setting in FILE, line 1; gorush.routes.a.types.mention.locKey replaces it"),
        Case(
            yaml: "transport:\n\n  waku: { url: 'http://127.0.0.1:99999' }\n",
            problem: "transport.waku.url: expected an http or https URL without query, such as http://127.0.0.1:8645 (FILE, line 3)"),
        Case(
            yaml: "transport: { waku: { url: 'http://a', urls: ['http://b', 'http://c'] } }\n",
            problem: "transport.waku.url: conflicts with transport.waku.urls; set only one of them (FILE, line 1)"),
        Case(
            yaml: "transport: { waku: { urls: ['http://b', 'http://b'] } }\n",
            problem: "transport.waku.urls: http://b is listed twice (FILE, line 1)"),
        Case(
            yaml: "transport: { waku: { urls: ['http://b', 'c'] } }\n",
            problem: "transport.waku.urls: expected a list of URLs, each an http or https URL"),
        Case(
            yaml: "transport: { waku: { maximumPostsInFlight: 0 } }\n",
            problem: "transport.waku.maximumPostsInFlight: expected a whole number from 1 to 64, found 0 (FILE, line 1)"),
        Case(
            yaml: "registration: { apnTopics: [] }\n",
            problem:
                "registration.apnTopics: expected at least one bundle id; leave the setting out to serve every app, found [] (FILE, line 1)"
        ),
        Case(
            yaml: "storage: { maximumBytes: 10GB }\n",
            problem: "storage.maximumBytes: expected a whole number from 1048576 to 9223372036854775807, found 10GB (FILE, line 1)"),
        Case(
            yaml: "admin: { listen: '127.0.0.1:99999' }\n",
            problem:
                "admin.listen: expected HOST:PORT, like 127.0.0.1:8645; port 0 means any free port, found 127.0.0.1:99999 (FILE, line 1)"),
        Case(
            yaml: "admin: { listen: '::1:8646' }\n",
            problem: "admin.listen: expected HOST:PORT, like 127.0.0.1:8645; port 0 means any free port, found ::1:8646 (FILE, line 1)"),
        Case(
            yaml: "gorush: { url: 'https://host', certificateAuthorityFile: /nowhere/ca.pem }\n",
            problem: "gorush.certificateAuthorityFile: the file does not exist or cannot be read, found /nowhere/ca.pem (FILE, line 1)"),
        Case(
            yaml: "admin: { listen: 'localhost:8645' }\n",
            problem: "transport.embedded.listen: 127.0.0.1:8645 is already used by admin.listen, on localhost:8645"),
        Case(
            yaml: "gateways: { listen: '127.0.0.1:8646', softphone: { apps: { 'com.example': { platform: android } } } }\n",
            problem:
                "gateways.listen: 127.0.0.1:8646 is already used by admin.listen, on 127.0.0.1:8646, "
                + "found 127.0.0.1:8646 (FILE, line 1)"),
        Case(
            yaml: "gateways: { listen: '127.0.0.1:1', nextcloudProxy: { apps: [{ platform: android }, { platform: windows }] } }\n",
            problem: "gateways.nextcloudProxy.apps.1.platform: expected one of ios, android, found windows (FILE, line 1)"),
        Case(
            yaml: "transport: { embedded: { listen: ['0.0.0.0:70', '127.0.0.1:70'] } }\n",
            problem:
                "transport.embedded.listen: 127.0.0.1:70 is already used by transport.embedded.listen, "
                + "on 0.0.0.0:70, found [0.0.0.0:70, 127.0.0.1:70] (FILE, line 1)"
        ),
        Case(
            yaml: "transport: { pubsubTopics: [/waku/2/rs/16/32, /waku/2/rs/16/32] }\n",
            problem: "transport.pubsubTopics: /waku/2/rs/16/32 is listed twice, found [/waku/2/rs/16/32, /waku/2/rs/16/32] (FILE, line 1)"),
        Case(
            yaml: "gorush: { routes: { a: { platform: ios }, b: { platform: ios } } }\n",
            problem: "gorush.routes.b: platform ios is already assigned to gorush.routes.a"),
        Case(
            yaml: "gorush: { routes: { a: { apnTopics: [x, y] }, b: { apnTopics: [y] } } }\n",
            problem: "gorush.routes.b: y is already assigned to gorush.routes.a"),
        Case(
            yaml: "gorush:\n  routes:\n    a: {}\n",
            problem: "gorush.routes.a: expected either apnTopics, or platform with ios or android"),
        Case(
            yaml: "transport: { waku: { history: false, storePeer: /dns4/host/tcp/1/p2p/16U } }\n",
            problem: "transport.waku.storePeer: has no effect, because transport.waku.history is false"),
        Case(
            yaml: "transport: { waku: { storePeer: host } }\n", problem: "transport.waku.storePeer: expected a multiaddress like "
        ),
        Case(
            yaml: "gateways: { nextcloudOrigin: { serverURL: 'https://a', authentication: { url: 'http://b' } } }\n",
            problem:
                "gateways.nextcloudOrigin.backendTokenFile: required: the file with the bearer token that your backend sends to /notify"),
        Case(
            yaml: "gateways: { nextcloudOrigin: { serverURL: 'https://a', backendToken: hush } }\n",
            problem:
                "gateways.nextcloudOrigin.authentication.url: required: "
                + "the URL of your backend's login check, such as http://127.0.0.1:9000/whoami"
        ),
        Case(
            yaml: "storage: { kind: postgresql }\n", problem: "storage.url: required: a URL like postgresql://user@host/database"),
        Case(
            yaml: "storage: { kind: postgresql, url: 'postgresql://a:b@c/d' }\n",
            problem: "storage.url: the URL contains a password, which would be printed"),
        Case(
            yaml: "storage: { kind: postgresql, url: 'postgresql://a@c/d?sslmode=require' }\n",
            problem: "storage.url: a database on another host needs sslmode=verify-full, the default"),
        Case(
            yaml: "storage: { kind: postgresql, url: 'postgresql://a@/d', backup: { folder: /nowhere } }\n",
            problem: "storage.backup.folder: PostgreSQL has its own backups; docs/BACKUP.md describes them, found /nowhere (FILE, line 1)"),
        Case(
            yaml: "storage: { url: 'postgresql://a@/d' }\n",
            problem: "storage.url: has no effect without storage.kind: postgresql (FILE, line 1)"),
        Case(
            yaml: "server: { name: 'a b' }\n",
            problem: "server.name: expected 1 to 64 letters, digits, dots, hyphens and underscores, found a b (FILE, line 1)"),
        Case(
            yaml: "gateways: { listen: '127.0.0.1:1', softphone: { apps: {} } }\n",
            problem: "gateways.softphone.apps: required: at least one app"),
        Case(
            yaml: "canary: { interval: 7s }\n", problem: "canary.interval: expected 0s, or at least 10s, found 7s (FILE, line 1)"),
        Case(
            yaml: "gorush: { ios: { push_type: background, priority: normal }, routes: { a: { platform: ios }, b: { apnTopics: [c] } } }\n",
            problem: "gorush.ios.content_available: must be true with push_type background; otherwise Apple does not wake the app"),
        Case(
            yaml: "admin: { allowedHosts: ['*'] }\n",
            problem: "admin.allowedHosts: expected a list of host names, found [*] (FILE, line 1)"),
    ])
    func `a problem names its location, the value found and the value expected`(example: Case) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("pushserver.yaml")
        try folder.write(example.yaml, to: "pushserver.yaml")
        let result = try await checkConfig("--config", file)
        #expect(result.exitCode == 78)
        let problems = result.error.split(separator: "\n")
        #expect(problems.count == 1 && problems[0].contains(example.problem.replacing("FILE", with: file)), "\(result.error)")
    }

    @Test(arguments: ["transport.waku.confirmPublishing=true", "gorush.maximumNotificationsInFlight=1000"])
    func `a setting of an earlier version that has no effect any more is a warning`(setting: String) async throws {
        let result = try await checkConfig("--set", setting)
        #expect(result.exitCode == 0)
        #expect(result.error.contains("\(setting.prefix { $0 != "=" }) has no effect any more"), "\(result.error)")
    }

    @Test func `a problem does not show a value that may be a secret`() async throws {
        let result = try await checkConfig(
            "--set", "gorush.url=http://me:hush@host?x", "--set", "gorush.headers=hush",
            environment: ["PUSHSERVER_TRANSPORT_WAKU_URL": "hush"])
        #expect(result.exitCode == 78)
        #expect(result.error.split(separator: "\n").count == 3, "\(result.error)")
        #expect(!result.error.contains("hush"))
    }

    @Test func `a secret may be in a private file instead, and is not shown`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("Authorization: Bearer hush\nX-Other: hush\n", to: "headers")
        let settings = [
            "gorush.url=https://host", "gorush.headersFile=\(folder.path("headers"))",
            "transport.waku.headersFile=\(folder.path("headers"))",
        ]
        let result = try await ChildProcess.run("pushserver", ["check-config"] + settings.flatMap { ["--set", $0] })
        #expect(result.exitCode == 0 && !result.output.contains("hush"), "\(result.error)")
        #expect(result.output.contains("headersFile: \(folder.path("headers"))"))
    }

    @Test(
        arguments: [
            ("text", 0o600, "", "gorush.headersFile: expected a list of headers like"),
            ("", 0o600, "", "gorush.headersFile: expected a list of headers like"),
            ("A: b", 0o644, "", "its permissions are too open (0644); run: chmod 600 FILE, found FILE"),
            ("A: b", 0o600, "C: d", "gorush.headersFile: conflicts with gorush.headers; set only one of them"),
            (nil, 0o600, "", "gorush.headersFile: the file does not exist, found FILE"),
        ] as [(String?, Int, String, String)])
    func `a file of headers that cannot be used is a problem`(content: String?, mode: Int, beside: String, problem: String) async throws {
        let folder = try TemporaryFolder()
        if let content { try folder.write(content, to: "headers", mode: mode) }
        let settings = ["gorush.headersFile=\(folder.path("headers"))"] + (beside.isEmpty ? [] : ["gorush.headers=\(beside)"])
        let result = try await ChildProcess.run("pushserver", ["check-config"] + settings.flatMap { ["--set", $0] })
        #expect(result.exitCode == 78)
        #expect(result.error.contains(problem.replacing("FILE", with: folder.path("headers"))), "\(result.error)")
    }

    @Test(arguments: ["", "\n", "one\ntwo\n"])
    func `the file of a secret has one line`(content: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write(content, to: "password", mode: 0o600)
        let result = try await checkConfig("--set", "storage.passwordFile=\(folder.path("password"))")
        #expect(result.exitCode == 78)
        #expect(result.error.contains("storage.passwordFile: expected one line with a text in the file"), "\(result.error)")
    }

    @Test(arguments: [[:], ["HOME": "home"], ["STATE_DIRECTORY": "state"]] as [[String: String]])
    func `default paths are absolute in every environment`(environment: [String: String]) throws {
        let settings = try Settings(SettingsSource(yaml: nil, environment: environment, flags: [:]), environment: environment)
        #expect(settings.identityKeyFile.hasPrefix("/") && settings.storagePath.hasPrefix("/"))
    }

    @Test func `a problem of a variable or flag names it`() async throws {
        let result = try await checkConfig(
            "--set", "log.lvel=info", environment: ["PUSHSERVER_LOG_LEVLE": "info", "PUSHSERVER_ADMIN_PORT": "8646"])
        #expect(result.error.contains("PUSHSERVER_LOG_LEVLE: no such setting in the environment; is PUSHSERVER_LOG_LEVEL meant?"))
        #expect(result.error.contains("log.lvel: no such setting in the flags; is log.level meant?"))
        // Kubernetes sets a variable of that name to an address.
        #expect(result.error.contains("PUSHSERVER_ADMIN_PORT: no such setting"))
    }

    @Test(arguments: [
        ("PUSHSERVER_GORUSH_TEXTS_MESSAGE", "PUSHSERVER_GORUSH_TYPES_MESSAGE_TEXT"),
        ("PUSHSERVER_GORUSH_LOC_KEYS_MENTION", "PUSHSERVER_GORUSH_TYPES_MENTION_LOC_KEY"),
    ])
    func `a variable that is gone names its replacement`(former: String, replacement: String) async throws {
        let result = try await checkConfig(environment: [former: "x"])
        #expect(result.exitCode == 78 && result.error.contains("environment; \(replacement) replaces it"), "\(result.error)")
        #expect(try await checkConfig(environment: [replacement: "x"]).exitCode == 0)
    }

    @Test func `the variables of Kubernetes for services called pushserver are not settings`() async throws {
        let result = try await checkConfig(environment: [
            "PUSHSERVER_SERVICE_HOST": "10.0.0.1", "PUSHSERVER_SERVICE_PORT": "8646", "PUSHSERVER_SERVICE_PORT_ADMIN": "8646",
            "PUSHSERVER_PORT": "tcp://10.0.0.1:8646", "PUSHSERVER_PORT_8646_TCP": "tcp://10.0.0.1:8646",
            "PUSHSERVER_PORT_8646_TCP_PROTO": "tcp", "PUSHSERVER_PORT_8646_TCP_PORT": "8646", "PUSHSERVER_PORT_8646_TCP_ADDR": "10.0.0.1",
            "PUSHSERVER_ADMIN_SERVICE_HOST": "10.0.0.1", "PUSHSERVER_ADMIN_PORT": "tcp://10.0.0.1:8646",
        ])
        #expect(result.exitCode == 0, "\(result.error)")
    }

    @Test func `a start that is to encrypt backups needs age`() async throws {
        let settings = [
            "--set", "storage.backup.folder=/nowhere", "--set",
            "storage.backup.recipients=age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha",
        ]
        let refused = try await ChildProcess.run("pushserver", ["check-config"] + settings, environment: ["PATH": "/nonexistent"])
        #expect(refused.exitCode == 78)
        let problem = "storage.backup.recipients: the program age is missing: install the package age"
        #expect(refused.error.contains(problem), "\(refused.error)")
        // A command that makes no backup runs without it.
        let drain = ["serve", "--drain", "--set", "storage.path=/nowhere/push.sqlite"]
        let drained = try await ChildProcess.run("pushserver", drain + settings, environment: ["PATH": "/nonexistent"])
        #expect(!drained.error.contains("age"), "\(drained.error)")
        #expect(try await ChildProcess.run("pushserver", ["check-config"] + settings, environment: ["PATH": "/usr/bin"]).exitCode == 0)
    }

    private func checkConfig(_ arguments: String..., environment: [String: String] = [:]) async throws -> ChildProcess.Ended {
        try await ChildProcess.run("pushserver", ["check-config"] + arguments, environment: environment)
    }
}
