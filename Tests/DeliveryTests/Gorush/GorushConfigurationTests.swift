import Foundation
import TestSupport
import Testing
import Yams

@testable import Delivery

/// The checks that `Config/gorush.yml` is a valid configuration of gorush, and that the server has no warning about it.
@Suite(.safetyNet) struct GorushConfigurationTests {
    /// The keys of GORUSH.md §13.
    private static let keys: [String: Set<String>] = [
        "core": [
            "enabled", "address", "port", "max_notification", "worker_num", "queue_num", "mode", "sync", "ssl", "cert_path", "key_path",
            "http_proxy", "shutdown_timeout", "feedback_hook_url", "feedback_timeout", "feedback_header",
        ],
        "ios": [
            "enabled", "key_path", "key_base64", "key_type", "password", "production", "max_concurrent_pushes", "max_retry", "key_id",
            "team_id",
        ],
        "android": ["enabled", "key_path", "credential", "max_retry"],
        "queue": ["engine"],
        "log": ["format", "access_log", "access_level", "error_log", "error_level", "hide_token", "hide_messages"],
    ]

    private func text() throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Config/gorush.yml")
        return try String(contentsOf: file, encoding: .utf8)
    }

    @Test func `every key is a setting of gorush`() throws {
        let root = try #require(try Yams.load(yaml: text()) as? [String: [String: Any]])
        #expect(Set(root.keys).isSuperset(of: ["core", "ios", "android", "log"]))
        for (section, settings) in root {
            let known = try #require(Self.keys[section], "\(section)")
            #expect(Set(settings.keys).isSubset(of: known), "\(section)")
        }
    }

    @Test(arguments: [GorushPlatform.ios, .android])
    func `a route has no warning about such a gorush`(platform: GorushPlatform) throws {
        let instance = try #require(GorushInstance(Array(try text().utf8)))
        #expect(instance.core.sync == true)
        #expect(instance.warnings(for: .init(platform: platform, routeCount: 2)) == [])
        #expect(instance.maximumNotificationCount == DeliveryConfiguration(endpoint: .init(url: "")).maximumNotificationsPerRequest)
    }
}
