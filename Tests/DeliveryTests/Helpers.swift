import Bytes
import HTTPClient
import PushProtocol
import StatusCrypto
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

extension GorushClient {
    init(_ stub: StubGorush, prefix: String = "") async {
        self.init(.init(url: await stub.url + prefix))
    }

    init(_ endpoint: DeliveryConfiguration.Endpoint) {
        self.init(http: HTTPClient(), endpoint: endpoint, probeTimeout: .seconds(600))
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
