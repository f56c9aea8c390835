import Bytes
package import Envelope
package import StatusCrypto
package import Wire

/// A sealed push request (PROTOCOL.md §9).
package struct SealedPushRequest: SealedRequest {
    package let requester: PrivateKey
    package let topic: TopicName
    package let payloads: [[UInt8]]
    private let messageID: [UInt8]
    private let server: StatusCrypto.PublicKey

    /// - Parameter requester: An ephemeral key, so that the signature doesn't show the sender.
    package init(
        _ message: PushMessage, to devices: [PushDevice], requester: PrivateKey, server: StatusCrypto.PublicKey, segmenter: Segmenter,
        using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        var request = PushNotificationRequest()
        request.messageID = message.messageID
        request.requests = devices.map { PushNotification(message, to: $0) }
        let sealing = Sealing(segmenter: segmenter, signer: requester)
        self.requester = requester
        self.server = server
        topic = .partitioned(server)
        payloads = try sealing.encrypt(sealing.sign(request.encoded(), type: .pushNotificationRequest), to: server, using: &random)
        messageID = message.messageID
    }

    package func answer(in message: OpenedMessage) -> PushNotificationResponse? {
        guard message.sender == server, message.type == .pushNotificationResponse,
            let response = try? PushNotificationResponse.decode(message.payload), response.messageID == messageID
        else { return nil }
        return response
    }
}

extension PushNotification {
    fileprivate init(_ message: PushMessage, to device: PushDevice) {
        self.init()
        accessToken = AccessToken(device.accessToken)
        publicKey = device.owner.keyHash.bytes.bytes
        installationID = device.installationID
        chatID = message.chat?.hash ?? []
        // An author is named by the same hash as a one-to-one chat with that author (PROTOCOL.md §6).
        author = message.author.map { ChatID($0.hex).hash } ?? []
        self.message = message.ciphertext
        type = message.kind.type
    }
}

extension DeviceReport {
    package init(_ report: PushNotificationReport) {
        keyHash = Hex.encode(report.publicKey)
        installationID = report.installationID
        outcome = Outcome(errorCode: report.success ? nil : report.error.rawValue)
    }
}
