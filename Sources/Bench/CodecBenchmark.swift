import Envelope
import PushProtocol
import StatusCrypto
import Wire

#if COMPARES_WITH_PROTOBUF
    import GeneratedMessages
    import SwiftProtobuf
#endif

/// Every message read and written by Wire and, if it was built in, by swift-protobuf: in turn, the same bytes, arrays in and out.
package enum CodecBenchmark {
    package static func measure(_ options: Options) throws -> Report {
        var bench = Bench(options: options)
        #if COMPARES_WITH_PROTOBUF
            try bench.compare(Samples.registration, with: Pushserver_PushNotificationRegistration.self)
            try bench.compare(Samples.registrationResponse, with: Pushserver_PushNotificationRegistrationResponse.self)
            try bench.compare(Samples.query, with: Pushserver_PushNotificationQuery.self)
            try bench.compare(Samples.queryInfo, with: Pushserver_PushNotificationQueryInfo.self)
            try bench.compare(Samples.queryResponse, with: Pushserver_PushNotificationQueryResponse.self)
            try bench.compare(Samples.contactCode, with: Pushserver_ContactCodeAdvertisement.self)
            try bench.compare(Samples.protocolMessage, with: Pushserver_ProtocolMessage.self)
            try bench.compare(Samples.notification, with: Pushserver_PushNotification.self)
            try bench.compare(Samples.request, with: Pushserver_PushNotificationRequest.self)
            try bench.compare(Samples.report, with: Pushserver_PushNotificationReport.self)
            try bench.compare(Samples.response, with: Pushserver_PushNotificationResponse.self)
            try bench.compare(Samples.applicationMetadata, with: Pushserver_ApplicationMetadataMessage.self)
            try bench.compare(Samples.segment, with: Pushserver_SegmentMessage.self)
            try bench.compare(Samples.wakuMessage, with: Pushserver_WakuMessage.self)
        #else
            options.progress.say("codec: without swift-protobuf; PUSHSERVER_BENCH_PROTOBUF=1 swift build … compares with it")
            let messages: [any WireMessage] = [
                Samples.registration, Samples.registrationResponse, Samples.query, Samples.queryInfo, Samples.queryResponse,
                Samples.contactCode, Samples.protocolMessage, Samples.notification, Samples.request, Samples.report, Samples.response,
                Samples.applicationMetadata, Samples.segment, Samples.wakuMessage,
            ]
            for message in messages { bench.measure(message) }
        #endif
        return bench.report
    }

    private struct Bench {
        let options: Options
        var report = Report("codec")

        init(options: Options) { self.options = options }

        #if COMPARES_WITH_PROTOBUF
            /// - Throws: when swift-protobuf cannot read what Wire wrote.
            mutating func compare<Ours: WireMessage, Theirs: SwiftProtobuf.Message>(_ ours: Ours, with type: Theirs.Type) throws {
                let bytes = ours.encoded()
                let theirs = try Theirs(serializedBytes: bytes)
                compare(
                    "\(Ours.self), read", ours: { keep(try? Ours.decode(bytes)) }, theirs: { keep(try? Theirs(serializedBytes: bytes)) })
                compare(
                    "\(Ours.self), write", ours: { keep(ours.encoded()) },
                    theirs: { keep(try? theirs.serializedBytes() as [UInt8]) })
            }

            private mutating func compare(_ name: String, ours: () -> Void, theirs: () -> Void) {
                options.progress.say("codec: \(name)")
                let rates = (0..<options.runCount).map { _ in
                    (ours: Timing.rate(for: options.duration, ours), theirs: Timing.rate(for: options.duration, theirs))
                }
                report.add(name, rates.map(\.ours), unit: "/s")
                report.add("\(name), swift-protobuf", rates.map(\.theirs), unit: "/s")
                report.add("\(name), ours ÷ swift-protobuf", rates.map { $0.ours / $0.theirs }, unit: "×", mark: .atLeast(1))
            }
        #else
            mutating func measure<Message: WireMessage>(_ message: Message) {
                options.progress.say("codec: \(Message.self)")
                let bytes = message.encoded()
                let runs = 0..<options.runCount
                report.add(
                    "\(Message.self), read", runs.map { _ in Timing.rate(for: options.duration) { keep(try? Message.decode(bytes)) } },
                    unit: "/s")
                report.add(
                    "\(Message.self), write", runs.map { _ in Timing.rate(for: options.duration) { keep(message.encoded()) } }, unit: "/s")
            }
        #endif
    }

    /// Messages as clients send them.
    private enum Samples {
        private static let owner = Owner(number: 0)

        static var registration: PushNotificationRegistration { owner.registration.content }

        static var registrationResponse: PushNotificationRegistrationResponse {
            var message = PushNotificationRegistrationResponse()
            message.success = true
            message.requestID = owner.keyHash.bytes
            return message
        }

        static var query: PushNotificationQuery {
            var message = PushNotificationQuery()
            message.publicKeys = [owner.keyHash.bytes]
            return message
        }

        static var queryInfo: PushNotificationQueryInfo {
            var message = PushNotificationQueryInfo()
            message.accessToken = owner.accessToken
            message.installationID = owner.installationID
            message.publicKey = owner.keyHash.bytes
            message.grant = registration.grant
            message.version = 1
            message.serverPublicKey = Cast.server.publicKey.compressed.bytes
            return message
        }

        static var queryResponse: PushNotificationQueryResponse {
            var message = PushNotificationQueryResponse()
            message.info = [queryInfo]
            message.messageID = Cast.digest("message", 0).bytes
            message.success = true
            return message
        }

        static var contactCode: ContactCodeAdvertisement {
            var message = ContactCodeAdvertisement()
            message.pushNotificationInfo = [queryInfo]
            message.chatIdentity = [UInt8](repeating: 5, count: 100)
            return message
        }

        static var protocolMessage: ProtocolMessage {
            var message = ProtocolMessage()
            message.publicMessage = contactCode.encoded()
            return message
        }

        static var notification: PushNotification {
            var message = PushNotification()
            message.accessToken = owner.accessToken
            message.publicKey = owner.keyHash.bytes
            message.installationID = owner.installationID
            message.type = .message
            message.chatID = owner.keyHash.bytes
            message.author = owner.keyHash.bytes
            message.message = [UInt8](repeating: 6, count: 100)
            return message
        }

        static var request: PushNotificationRequest {
            var message = PushNotificationRequest()
            message.requests = [notification]
            message.messageID = Cast.digest("message", 0).bytes
            return message
        }

        static var report: PushNotificationReport {
            var message = PushNotificationReport()
            message.success = true
            message.publicKey = owner.keyHash.bytes
            message.installationID = owner.installationID
            return message
        }

        static var response: PushNotificationResponse {
            var message = PushNotificationResponse()
            message.messageID = Cast.digest("message", 0).bytes
            message.reports = [report]
            return message
        }

        static var applicationMetadata: ApplicationMetadataMessage {
            var message = ApplicationMetadataMessage()
            message.signature = registration.grant
            message.payload = request.encoded()
            message.type = .pushNotificationRequest
            return message
        }

        static var segment: SegmentMessage {
            var message = SegmentMessage()
            message.entireMessageHash = Cast.digest("whole", 0).bytes
            message.index = 1
            message.segmentsCount = 3
            message.payload = [UInt8](repeating: 7, count: 10_000)
            return message
        }

        static var wakuMessage: WakuMessage {
            var message = WakuMessage()
            message.payload = [UInt8](repeating: 8, count: 880)
            message.contentTopic = owner.topic.contentTopic
            message.version = 1
            message.timestamp = 1_700_000_000_000_000_000
            return message
        }
    }
}
