import Foundation

/// A response of gorush v1.22.0, byte for byte (GORUSH.md §1, §2.2).
struct StubGorushResponse: Sendable {
    var status = 200
    var contentType: String? = "application/json; charset=utf-8"
    var headers: [String: String] = [:]
    var body = ""

    static let version = "v1.22.0"

    static let empty = StubGorushResponse(contentType: nil)
    static let welcome = StubGorushResponse(body: #"{"text":"Welcome to notification server."}"#)
    static let versionInformation = StubGorushResponse(
        body: #"{"source":"https://github.com/appleboy/gorush","version":"\#(version)"}"#)
    static let notFound = StubGorushResponse(status: 404, contentType: "text/plain", body: "404 page not found")
    static let withoutTrailingSlash = StubGorushResponse(status: 307, contentType: nil, headers: ["Location": "/api/push"])

    static func refused(_ message: String) -> StubGorushResponse {
        StubGorushResponse(status: 400, body: #"{"code":400,"message":"\#(message)"}"#)
    }

    static func accepted(count: Int, logs: [String]) -> StubGorushResponse {
        StubGorushResponse(body: #"{"counts":\#(count),"logs":[\#(logs.joined(separator: ","))],"success":"ok"}"#)
    }

    /// Returns the effective configuration, as far as clients read it.
    static func configuration(_ configuration: StubGorush.Configuration) -> StubGorushResponse {
        StubGorushResponse(
            contentType: "application/x-yaml; charset=utf-8",
            body: """
                core:
                  enabled: true
                  address: ""
                  shutdown_timeout: 30
                  port: "8088"
                  max_notification: \(configuration.maximumNotificationCount)
                  worker_num: \(configuration.workerCount)
                  queue_num: 8192
                  mode: release
                  sync: \(configuration.isSync)
                  ssl: false
                  key_path: key.pem
                  pid:
                    enabled: false
                    path: gorush.pid
                    override: true
                  auto_tls:
                    enabled: false
                    folder: .cache
                    host: ""
                  feedback_hook_url: ""
                  feedback_timeout: 10
                  feedback_header: []
                api:
                  push_uri: /api/push
                  config_uri: /api/config
                android:
                  enabled: \(configuration.enabledPlatforms.contains(2))
                  key_path: ""
                  credential: ""
                  max_retry: 0
                huawei:
                  enabled: false
                  max_retry: 0
                ios:
                  enabled: \(configuration.enabledPlatforms.contains(1))
                  key_path: ""
                  key_type: pem
                  password: '[REDACTED]'
                  production: \(configuration.isProduction)
                  max_concurrent_pushes: 100
                  max_retry: 0
                queue:
                  engine: \(configuration.queueEngine)
                  redis:
                    addr: 127.0.0.1:6379
                    with_tls: false
                log:
                  format: string
                  hide_token: \(configuration.hidesTokens)
                stat:
                  engine: memory
                grpc:
                  enabled: false

                """)
    }

    /// Returns an entry of `logs` (GORUSH.md §2.4).
    static func failure(_ notification: StubNotification, token: String, error: String, hidesTokens: Bool) -> String {
        let identifier = (notification.identifier ?? "").isEmpty ? [] : [("notif_id", notification.identifier ?? "")]
        let fields =
            identifier + [
                ("type", "failed-push"), ("platform", notification.platformName), ("token", hidesTokens ? hidden(token) : token),
                ("message", notification.message ?? ""), ("error", error),
            ]
        return "{" + fields.map { "\(quoted($0)):\(quoted($1))" }.joined(separator: ",") + "}"
    }

    /// Returns the token with stars for each occurrence of its first and last 10 characters, or for all of it if it is short.
    private static func hidden(_ token: String) -> String {
        guard token.count >= 20 else { return String(repeating: "*", count: token.count) }
        let stars = String(repeating: "*", count: 10)
        return token.replacingOccurrences(of: token.suffix(10), with: stars).replacingOccurrences(of: token.prefix(10), with: stars)
    }

    /// Returns a string literal as Go writes it.
    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case "<", ">", "&", "\u{0}"..<" ", "\u{2028}", "\u{2029}": "\\u" + hex(scalar.value)
            default: String(scalar)
            }
        }
        return "\"" + escaped.joined() + "\""
    }

    private static func hex(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
