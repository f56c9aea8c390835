import Foundation
import PushProtocol
import Settings
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The operator's template in the posted bytes, and the rejection of unusable templates at the start.
@Suite(.safetyNet) struct NotificationTemplateTests {
    private func configuration(_ yaml: String) throws -> DeliveryConfiguration {
        let text = "gorush:\n  url: http://gorush\n" + yaml.split(separator: "\n").map { "  \($0)\n" }.joined()
        return try #require(try Settings(SettingsSource(yaml: text, environment: [:], flags: [:]), environment: [:]).delivery)
    }

    /// Returns the notifications for an iPhone and an Android device, without the values that vary between runs.
    private func posted(_ yaml: String) async throws -> [Int: NSDictionary] {
        let configuration = try configuration(yaml)
        let posts = try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(
                to: await stub.url,
                {
                    $0.ios = configuration.ios; $0.android = configuration.android; $0.routes = configuration.routes
                }
            ) { running in
                try await running.accept([iosPush(1), androidPush(2)])
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 2])
            }
            return stub.posts.all.map(\.body)
        }
        var notifications: [Int: NSDictionary] = [:]
        for post in posts {
            let body = try JSONSerialization.jsonObject(with: Data(post.utf8)) as? [String: [[String: Any]]]
            var notification = try #require(body?["notifications"]?.first)
            for name in ["notif_id", "tokens", "expiration"] { notification[name] = nil }
            notifications[try #require(notification["platform"] as? Int)] = notification as NSDictionary
        }
        return notifications
    }

    private static let iosData = #""data":{"chat_id":"0x0102","message":"0x030405","installation_ids":["installation-1"]}"#
    private static let androidData = #""data":{"chat_id":"0x0102","message":"0x030405","installation_ids":["installation-2"]}"#
    private static let ios = #""platform":1,"topic":"im.status.ethereum","collapse_id":"COLLAPSE",\#(iosData)"#
    private static let message = #""message":"You have a new message""#
    private static let android = #""platform":2,"android":{"ttl":"86400s","notification":{"tag":"COLLAPSE"}},\#(androidData)"#

    struct Example: CustomTestStringConvertible, Sendable {
        var yaml: String
        var platform: Int
        var json: String
        var testDescription: String { yaml }

        static func ios(_ yaml: String, _ json: String) -> Example { Example(yaml: yaml, platform: 1, json: json) }
        static func android(_ yaml: String, _ json: String) -> Example { Example(yaml: yaml, platform: 2, json: json) }

        static let all = [
            ios("", "{\(NotificationTemplateTests.ios),\(message)}"),
            android("", "{\(NotificationTemplateTests.android),\(message)}"),
            ios(
                """
                ios: { title: T, sound: default, badge: 7, category: C, thread-id: G, interruption_level: time-sensitive,
                  mutable_content: true, content_available: true, push_type: alert, priority: high,
                  alert: { title-loc-key: K, subtitle: S } }
                """,
                """
                {\(NotificationTemplateTests.ios),\(message),"title":"T","sound":"default","badge":7,"category":"C","thread-id":"G",
                "interruption_level":"time-sensitive","mutable_content":true,"content_available":true,"push_type":"alert","priority":"high",
                "alert":{"title-loc-key":"K","subtitle":"S"}}
                """),
            ios(
                "ios: { data: { kind: push } }",
                "{\(NotificationTemplateTests.ios),\(message)}".replacing(#""data":{"#, with: #""data":{"kind":"push","#)),
            ios(
                "ios: { threadByChat: true }",
                #"{\#(NotificationTemplateTests.ios),\#(message),"thread-id":"a12871fee210fb8619291eaea194581c"}"#),
            ios(
                "ios: { push_type: background, content_available: true, priority: normal }",
                """
                {"platform":1,"topic":"im.status.ethereum","push_type":"background","content_available":true,"priority":"normal",\(iosData)}
                """),
            ios("types: { message: { text: M } }", #"{\#(NotificationTemplateTests.ios),"message":"M"}"#),
            ios("types: { message: { locKey: K } }", #"{\#(NotificationTemplateTests.ios),"alert":{"loc-key":"K"}}"#),
            // A field of the type adds to those of all types, and wins over them. Those of another type do not count.
            ios(
                """
                ios: { sound: a, badge: 1, data: { kind: push, screen: all } }
                types: { message: { ios: { sound: b, category: C, data: { screen: chats } } }, mention: { ios: { badge: 9 } } }
                """,
                """
                {\(NotificationTemplateTests.ios),\(message),"sound":"b","badge":1,"category":"C"}
                """.replacing(#""data":{"#, with: #""data":{"kind":"push","screen":"chats","#)),
            android(
                """
                android: { priority: normal, android: { ttl: 90s } }
                types: { message: { android: { dataOnly: true, priority: high, android: { ttl: 60s }, data: { screen: chats } } } }
                """,
                #"{"platform":2,"priority":"high","android":{"ttl":"60s"},\#(androidData)}"#
                    .replacing(#""data":{"#, with: #""data":{"screen":"chats","#)),
            android(
                """
                android: { title: T, priority: high, android: { collapse_key: K, restricted_package_name: p.q, ttl: 90s, notification: {
                  channel_id: C, title_loc_key: L, icon: I, color: "#5B45f0", sound: S, click_action: A } }, data: { kind: push } }
                """,
                """
                {"platform":2,\(message),"title":"T","priority":"high","android":{"collapse_key":"K","restricted_package_name":"p.q",
                "ttl":"90s","notification":{"tag":"COLLAPSE","channel_id":"C","title_loc_key":"L","icon":"I","color":"#5B45f0","sound":"S",
                "click_action":"A"}},"data":{"kind":"push","chat_id":"0x0102","message":"0x030405","installation_ids":["installation-2"]}}
                """),
            android(
                "android: { dataOnly: true, priority: high }",
                #"{"platform":2,"priority":"high","android":{"ttl":"86400s"},\#(androidData)}"#),
            android(
                "types: { message: { locKey: K } }",
                "{\(NotificationTemplateTests.android)}".replacing(#""tag":"#, with: #""body_loc_key":"K","tag":"#)),
            // A route's template overrides the general one, and the rest is as above.
            ios(
                """
                ios: { sound: a, badge: 1 }
                types: { mention: { text: X } }
                routes: { app: { apnTopics: [im.status.ethereum], ios: { sound: b }, types: { message: { text: M } } } }
                """, #"{\#(NotificationTemplateTests.ios),"message":"M","sound":"b","badge":1}"#),
            // A route's field of the type wins over the general one, and either over a route's field of all types.
            ios(
                """
                types: { message: { ios: { sound: a, badge: 1 } } }
                routes: { app: { apnTopics: [im.status.ethereum], ios: { badge: 2 }, types: { message: { ios: { sound: b } } } } }
                """, #"{\#(NotificationTemplateTests.ios),\#(message),"sound":"b","badge":1}"#),
            android(
                """
                android: { priority: high }
                routes: { app: { platform: android, android: { dataOnly: true } } }
                """, #"{"platform":2,"priority":"high","android":{"ttl":"86400s"},\#(androidData)}"#),
        ]
    }

    @Test(arguments: Example.all) func `gorush gets each setting, and no other fields`(_ example: Example) async throws {
        let notification = try #require(try await posted(example.yaml)[example.platform])
        let collapse =
            notification["collapse_id"] as? String ?? ((notification["android"] as? [String: Any])?["notification"] as? [String: Any])?[
                "tag"] as? String
        #expect(collapse.map(\.utf8.count) ?? 32 == 32)
        let json = example.json.replacing("COLLAPSE", with: collapse ?? "")
        let expected = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
        #expect(notification == expected)
    }

    @Test func `two chats of one request are two notifications on a device, and a retry adds none`() {
        func identifier(_ chat: [UInt8], request: Int64 = 1) -> String {
            var push = queued([iosPush(1)])[0]
            push.push.chatID = chat
            push.request = request
            return BatchPlanner.collapseIdentifier(of: push)
        }
        #expect(identifier([1]) == identifier([1]))
        #expect(Set([identifier([1]), identifier([2]), identifier([1], request: 2), identifier([])]).count == 4)
    }

    @Test(
        arguments: [
            ("ios: { badge: '1' }", "gorush.ios.badge:"), ("ios: { mutable_content: \"true\" }", "gorush.ios.mutable_content:"),
            ("ios: { badge: -1 }", "gorush.ios.badge:"), ("ios: { badge: many }", "gorush.ios.badge:"),
            ("ios: { mutable_content: 1 }", "gorush.ios.mutable_content:"), ("ios: { mutableContent: true }", "gorush.ios.mutableContent:"),
            ("ios: { priority: urgent }", "gorush.ios.priority:"), ("ios: { push_type: voip }", "gorush.ios.push_type:"),
            ("ios: { interruption_level: loud }", "gorush.ios.interruption_level:"),
            ("ios: { production: false }", "gorush.ios.production:"),
            ("ios: { sound: [a, b] }", "gorush.ios.sound:"), ("ios: { alert: text }", "gorush.ios.alert:"),
            ("ios: { thread-id: a, threadByChat: true }", "gorush.ios.thread-id:"), ("ios: { data: { aps: x } }", "gorush.ios.data.aps:"),
            ("ios: { data: { chat_id: x } }", "gorush.ios.data.chat_id:"),
            ("ios: { push_type: background, priority: normal }", "gorush.ios.content_available:"),
            ("ios: { push_type: background, content_available: true }", "gorush.ios.priority:"),
            ("ios: { push_type: background, content_available: true, priority: normal, sound: x }", "gorush.ios.sound:"),
            ("ios: { push_type: background, content_available: true, priority: normal, threadByChat: true }", "gorush.ios.threadByChat:"),
            ("android: { sound: x }", "gorush.android.sound:"), ("android: { topic: x }", "gorush.android.topic:"),
            ("android: { android: { ttl: 3600 } }", "gorush.android.android.ttl:"), ("android: { android: { ttl: 25h } }", "ttl:"),
            ("android: { android: { notification: { color: red } } }", "gorush.android.android.notification.color:"),
            ("android: { android: { notification: { tag: x } } }", "gorush.android.android.notification.tag:"),
            ("android: { dataOnly: true, title: x }", "gorush.android.title:"),
            (
                "android: { dataOnly: true, android: { notification: { channel_id: x } } }",
                "gorush.android.android.notification.channel_id:"
            ),
            ("android: { data: { google_x: y } }", "gorush.android.data.google_x:"),
            ("android: { data: { gcm: y } }", "gorush.android.data.gcm:"),
            ("types: { message: { ios: { badge: x } } }", "gorush.types.message.ios.badge:"),
            ("types: { message: { badge: 1 } }", "gorush.types.message.badge:"),
            ("types: { messages: { text: x } }", "gorush.types.messages.text:"),
            ("types: { mention: { ios: { data: { chatId: x } } } }", "gorush.types.mention.ios.data.chatId:"),
            (
                "ios: { sound: x }\ntypes: { mention: { ios: { push_type: background, content_available: true, priority: normal } } }",
                "gorush.ios.sound:"
            ),
            ("types: { mention: { ios: { push_type: background, content_available: true } } }", "gorush.types.mention.ios.priority:"),
            ("android: { dataOnly: true }\ntypes: { message: { android: { title: x } } }", "gorush.types.message.android.title:"),
            (
                "routes: { a: { apnTopics: [x], types: { message: { android: { title: x } } } } }",
                "gorush.routes.a.types.message.android.title:"
            ),
            ("routes: { a: { apnTopics: [x], android: { title: x } } }", "gorush.routes.a.android.title:"),
            ("routes: { a: { apnTopics: [x], ios: { badge: x } } }", "gorush.routes.a.ios.badge:"),
            ("routes: { a: { apnTopics: [x], apnsEnvironment: sandbox } }", "gorush.routes.a.apnsEnvironment:"),
            ("routes: { a: { apnTopics: [x], apnsEnvironment: sandbox, url: 'http://gorush/' } }", "gorush.routes.a.apnsEnvironment:"),
            (
                """
                routes:
                  a: { apnTopics: [x], url: 'http://other' }
                  b: { apnTopics: [y], url: 'http://other/', apnsEnvironment: sandbox }
                """,
                "gorush.routes.b.apnsEnvironment:"
            ),
        ])
    func `a value that gorush cannot use is rejected, and the error names its key`(yaml: String, place: String) {
        let error = #expect(throws: SettingsError.self) { try configuration(yaml) }
        #expect(error?.problems.count == 1 && error?.description.contains(place) == true, "\(error?.description ?? "")")
    }

    @Test func `a route gets the pushes of its platform or its bundle ids`() throws {
        let routes = try configuration("routes: { a: { platform: ios }, b: { platform: android }, c: { apnTopics: [x, y] } }").routes
        #expect(routes.map(\.name) == ["a", "b", "c"])
        #expect(routes.map(\.pushes) == [.platform(.ios), .platform(.android), .apnTopics(["x", "y"])])
    }

    @Test func `another environment of Apple's has a gorush of its own`() throws {
        let configuration = try configuration("routes: { a: { apnTopics: [x], apnsEnvironment: sandbox, url: 'http://other' } }")
        #expect(configuration.routes[0].endpoint?.environment == .sandbox)
        #expect(configuration.endpoint.environment == .production)
        let inherited = try self.configuration("apnsEnvironment: sandbox\nroutes: { a: { apnTopics: [x], url: 'http://other' } }")
        #expect(inherited.routes[0].endpoint?.environment == .sandbox)
        // Two routes of one environment share its gorush.
        let routes = ["a: { apnTopics: [x]", "b: { apnTopics: [y]"].map { $0 + ", apnsEnvironment: sandbox, url: 'http://other' }" }
        #expect(try self.configuration("routes: { \(routes.joined(separator: ", ")) }").routes.count == 2)
    }
}
