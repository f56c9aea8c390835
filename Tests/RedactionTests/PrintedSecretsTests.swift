import Bytes
import Envelope
import Foundation
import HTTPClient
import Logging
import PushClient
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Delivery
@testable import Engine
@testable import HTTPGateways
@testable import SQLiteStore
@testable import Settings

/// The printed forms of every type that contains a secret.
@Suite(.safetyNet) struct PrintedSecretsTests {
    private static let secret = "5ec1e7-that-nobody-may-read"
    private static let bytes = Array(secret.utf8)

    private static let forms = readableForms(of: secret)

    private struct Holder: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var value: any Sendable

        init(_ value: any Sendable) {
            testDescription = "\(type(of: value))"
            self.value = value
        }
    }

    private static var holders: [Holder] {
        get throws {
            var registration = PushNotificationRegistration()
            registration.deviceToken = DeviceToken(secret)
            registration.accessToken = AccessToken(secret)
            registration.grant = bytes
            registration.blockedChatList = [bytes]
            var notification = PushNotification()
            notification.accessToken = AccessToken(secret)
            notification.message = bytes
            var info = PushNotificationQueryInfo()
            info.accessToken = AccessToken(secret)
            var request = PushNotificationRequest()
            request.requests = [notification]
            var answer = PushNotificationQueryResponse()
            answer.info = [info]
            var advertisement = ContactCodeAdvertisement()
            advertisement.pushNotificationInfo = [info]
            var metadata = ApplicationMetadataMessage()
            metadata.payload = registration.encoded()
            let decoded = try PushNotificationRegistration.decode(registration.encoded())
            #expect(decoded == registration)
            let target = Installation(keyHash: FixedBytes(), installationID: "phone")
            let push = AcceptedPush(
                target: target, deduplicationKey: FixedBytes(), tokenType: .apn, deviceToken: DeviceToken(secret), apnTopic: "topic",
                type: .message,
                chatID: bytes, message: bytes)
            let pushTarget = PushTarget(registration, asking: [bytes])
            let stored = Registration(keyHash: FixedBytes(), content: registration, plaintextDigest: FixedBytes())
            let gatewayNotification = GatewayNotification(
                platform: .ios, token: DeviceToken(secret), kind: .alert, priority: .high, data: ["subject": secret])
            var queued = QueuedPush(id: 1, request: 1, push: push, acceptedAt: Timestamp(nanoseconds: 1))
            queued.notification = gatewayNotification
            let dead = DeadToken(
                token: DeviceToken(secret), type: .apn, apnTopic: "topic", attemptedAt: Timestamp(nanoseconds: 1),
                reason: .apnsUnregistered,
                route: "ios")
            let reply = Reply(
                type: .pushNotificationQueryResponse, payload: bytes, recipient: FixedBytes(), pubsubTopic: "topic")
            let facts = RegistrationInput(content: .message(registration), grantIsValid: true, plaintextDigest: FixedBytes())
            var update = OutboxUpdate()
            update.tokens = [.unregister(dead)]
            let endpoint = DeliveryConfiguration.Endpoint(url: "http://gorush", headers: [("Authorization", secret)])
            let source = SettingsSource(
                yaml: "gorush: {url: 'http://gorush', headers: ['Authorization: \(secret)']}",
                environment: ["PUSHSERVER_STORAGE_PATH": "/tmp/x"], flags: [:])
            let key32 = FixedBytes<32>(bytes + [UInt8](repeating: 1, count: 32 - bytes.count)) ?? FixedBytes()
            let key = try PrivateKey(key32)
            var device = Device(deviceToken: secret, service: .firebase)
            device.mutedChats = [ChatID(secret)]
            let owner = Owner.key(Identity(key).publicKey)
            let info71 = DeviceInfo(
                server: Identity(key).publicKey, installationID: "phone", accessToken: secret, encryptedTokenCount: 0, version: 1,
                authorization: .verified)
            var pushMessage = PushMessage(kind: .message, messageID: [1])
            pushMessage.ciphertext = bytes
            let client = HTTPClient()
            defer { client.shutdown() }
            let peer = try #require(IPAddress("127.0.0.1"))
            let http = HTTPRequest(
                method: .post, url: "http://gorush", headers: [("Authorization", secret)], body: bytes, timeout: .seconds(1),
                maximumResponseBodyByteCount: 1)
            let opened = OpenedEnvelope(
                id: 1,
                content: .message(
                    .registration(
                        .init(
                            facts: facts, requestID: FixedBytes(), keyHash: FixedBytes(), topics: QueryTopics(plain: 1, prefixed: 2))),
                    from: .init(sender: key.publicKey, messageID: FixedBytes(), pubsubTopic: "topic", receivedAt: Timestamp(nanoseconds: 0))
                ))
            let content = NoticeContent(nid: 1, app: "spreed", subject: secret, type: "chat", id: "1")
            let noticeBody = Array(#"{"uid":"alice","notification":{"nid":1,"app":"a","subject":"\#(secret)","type":"t","id":"i"}}"#.utf8)
            return [
                Holder(content), Holder(Notice.content(content)), Holder(try #require(NoticeRequest(noticeBody))),
                Holder(Payload.silent(secret)), Holder(HTTPAuthenticationBackend(http: client, url: "http://user:\(secret)@backend")),
                Holder(NextcloudOrigin.Configuration(serverURL: "https://cloud", backendToken: secret)),
                Holder(registration), Holder(decoded), Holder(advertisement), Holder(metadata), Holder(notification), Holder(info),
                Holder(request), Holder(answer), Holder(push), Holder(pushTarget),
                Holder(QueryableRegistration(registration)), Holder(stored), Holder(gatewayNotification), Holder(queued), Holder(dead),
                Holder(AcceptedNotification(gatewayNotification, digest: FixedBytes())), Holder(reply), Holder(facts), Holder(update),
                Holder(endpoint), Holder(DeliveryConfiguration(endpoint: endpoint)), Holder(source),
                Holder(try Settings(source, environment: [:])), Holder(key), Holder(key.sharedSecret(with: key.publicKey)),
                Holder(Identity(key)), Holder(device), Holder(info71), Holder(pushMessage),
                Holder(PushDevice(owner: owner, installationID: "phone", accessToken: secret)),
                Holder(RegistrationPlan(installationID: "phone", accessToken: secret)), Holder(http),
                Holder(HTTPResponse(status: 200, headers: http.headersAsAnswered, body: bytes)),
                Holder(opened), Holder(MessageDecision.answered(reply)), Holder(DeviceToken(secret)), Holder(AccessToken(secret)),
                Holder(PushToken.fcm(DeviceToken(secret))),
                Holder(
                    PushAttempt(
                        choice: AttemptChoice(
                            number: 1, device: DeviceCode(), row: nil, kind: .first, attemptClass: .proven),
                        push: queued, outcome: .sent, at: Timestamp(nanoseconds: 1), postedAt: Timestamp(nanoseconds: 1),
                        answeredAt: Timestamp(nanoseconds: 1))),
                Holder(GorushClient(http: client, endpoint: endpoint, probeTimeout: .seconds(1))),
                Holder(WakuNode(url: "http://user:\(secret)@node", client: client, headers: [("Authorization", secret)])),
                Holder(ListFingerprints(key: key32)),
                Holder(
                    GatewayRequest(
                        method: "POST", target: "/push?token=\(secret)", headers: http.headersAsAnswered, client: peer,
                        readBody: { _ in bytes })),
                Holder(
                    GorushNotification(
                        tokens: [DeviceToken(secret)], platform: .ios, data: .rfc71(chatID: secret, message: secret, installationIDs: []))),
            ]
        }
    }

    @Test func `no value shows its secret, however it is printed and whatever it is part of`() throws {
        for holder in try Self.holders {
            var texts = printedForms(of: holder.value)
            let lines = LogLines()
            for level in Logger.Level.allCases {
                lines.logger.log(level: level, "\(holder.value)", metadata: ["value": "\(holder.value)"])
            }
            #expect(lines.all.count == Logger.Level.allCases.count)
            texts += lines.all
            for form in Self.forms {
                #expect(texts.allSatisfy { !$0.contains(form) }, "\(holder.testDescription) shows \(form)")
            }
        }
    }
}

extension HTTPRequest {
    fileprivate var headersAsAnswered: HTTPHeaders { HTTPHeaders(headers) }
}
