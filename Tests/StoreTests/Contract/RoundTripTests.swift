import Bytes
import Envelope
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Values of which each field is kept.
@Suite(.safetyNet) struct RoundTripTests {
    /// The tests of this folder store these values and compare what they read.
    @Test func `the values that tests store and read have something else in each field`() {
        expectAllFields(of: [envelope(), envelope(2)])
        expectAllFields(of: [reply()])
        expectAllFields(of: [topics])
        expectAllFields(of: [OriginStoreTests.device(2)])
        expectAllFields(of: [OriginStoreTests.push(2)])
        expectAllFields(of: [ProxyStoreTests.device(1)])
        let content = registration().content
        expectAllFields(of: [
            (
                content.tokenType, content.deviceToken, content.installationID, content.accessToken, content.version,
                content.allowedKeyList, content.blockedChatList, content.grant, content.apnTopic, content.allowedMentionsChatList,
                content.mutedChatList
            )
        ])
        expectAllFields(
            of: [push()].map {
                ($0.target, $0.deduplicationKey, $0.tokenType, $0.deviceToken, $0.apnTopic, $0.type, $0.chatID, $0.message)
            })
        expectAllFields(
            of: GatewayOutboxTests.notifications.map {
                (
                    $0.platform, $0.token, $0.topic, $0.kind, $0.priority, $0.alert, $0.sound, $0.badge, $0.isContentAvailable,
                    $0.isMutable, $0.threadID, $0.collapseID, $0.isTriedOnce, $0.isCall, $0.data
                )
            })
    }
}
