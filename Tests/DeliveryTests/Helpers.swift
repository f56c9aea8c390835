import Bytes
import Envelope
import HTTPClient
import PushProtocol
import StatusCrypto
import Store
import TestServers
import TestSupport

@testable import Delivery

extension GorushNotification {
    static func ios(
        _ identifier: String = "n-1", tokens: [String] = [String(repeating: "a1", count: 32)], topic: String? = "im.status.ethereum"
    ) -> GorushNotification {
        GorushNotification(
            identifier: identifier, tokens: tokens.map(DeviceToken.init), platform: .ios, topic: topic, text: "You have a new message",
            data: .rfc71(chatID: "0x01", message: "0x", installationIDs: ["i"]))
    }

    static func android(_ identifier: String = "n-2", tokens: [String] = ["fcm-token-of-a-device"]) -> GorushNotification {
        GorushNotification(
            identifier: identifier, tokens: tokens.map(DeviceToken.init), platform: .android, topic: nil, text: "Someone mentioned you",
            data: .statusGo(encryptedMessage: "0x", chatID: "0x01", publicKey: "0x02"))
    }
}

/// The configuration of a gorush that may be used.
let syncConfiguration = "core:\n  sync: true\nqueue:\n  engine: local\n"

/// gorush's response to one notification for one device.
let oneAccepted = #"{"counts":1,"logs":[],"success":"ok"}"#

extension GorushInstance {
    /// Reads a configuration whose sections are on one line each, `core: {sync: true}`, as gorush itself would write it. The queue is
    /// gorush's own unless it is set.
    init?(settings: String) {
        let text = (settings.contains("queue:") ? settings : settings + "\nqueue: {engine: local}")
            .replacing(/\{(.*)\}/) { match in
                match.1.split(separator: ",").map { "\n  " + $0.drop { $0 == " " } }.joined()
            }
        self.init(Array(text.utf8))
    }
}

extension GorushClient {
    init(_ stub: StubGorush, prefix: String = "") async {
        self.init(.init(url: await stub.url + prefix))
    }

    init(_ endpoint: DeliveryConfiguration.Endpoint, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(http: HTTPClient(), endpoint: endpoint, probeTimeout: .seconds(600), clock: clock)
    }

    func post(_ notifications: [GorushNotification]) async -> GorushResponse {
        await post(notifications, timeout: .seconds(600))
    }
}

extension HTTPResponse {
    init(_ status: Int, _ body: String = "", headers: [(name: String, value: String)] = []) {
        self.init(status: status, headers: HTTPHeaders(headers), body: Array(body.utf8))
    }
}

extension NotificationTemplates {
    /// Returns the templates of an operator whose settings change those of each type alike.
    static func all(_ change: (inout NotificationTemplate) -> Void) -> NotificationTemplates {
        NotificationTemplates { kind in
            var template = NotificationTemplates()[kind]
            change(&template)
            return template
        }
    }
}

extension PushAttempt {
    /// Creates an attempt that was answered immediately.
    init(
        push: QueuedPush, outcome: AttemptOutcome, at time: Timestamp = World.start, kind: AttemptChoice.Kind = .retry,
        ownDelay: Duration = .zero
    ) {
        self.init(
            choice: AttemptChoice(
                number: Int(push.id), device: RowSealing.device(of: push.targetDigest), row: kind == .call ? push.id : nil, kind: kind,
                attemptClass: .proven),
            push: push, outcome: outcome, at: time, postedAt: time, answeredAt: time, ownDelay: ownDelay)
    }
}
