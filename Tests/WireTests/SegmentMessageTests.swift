import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct SegmentMessageTests {
    static func message(payload: [UInt8] = [1], segmentsCount: UInt32 = 0, paritySegmentsCount: UInt32 = 0) -> SegmentMessage {
        var message = SegmentMessage()
        message.entireMessageHash = Array(repeating: 7, count: 32)
        message.payload = payload
        message.segmentsCount = segmentsCount
        message.paritySegmentsCount = paritySegmentsCount
        return message
    }

    @Test(arguments: [
        message(segmentsCount: 2),
        message(segmentsCount: .max),
        message(paritySegmentsCount: 1),
    ])
    func `data and parity segments are segments`(message: SegmentMessage) {
        #expect(SegmentMessage.isSegment(message.encoded()))
    }

    @Test(arguments: [
        message(payload: [], segmentsCount: 2),
        message(payload: [], paritySegmentsCount: 1),
        message(segmentsCount: 1),
        message(segmentsCount: 1, paritySegmentsCount: 1),
        message(),
    ])
    func `a message without payload or without count is not a segment`(message: SegmentMessage) {
        #expect(!SegmentMessage.isSegment(message.encoded()))
    }

    @Test func `a plain ApplicationMetadataMessage is not a segment`() {
        var message = ApplicationMetadataMessage()
        message.signature = Array(repeating: 1, count: 65)
        message.payload = [1, 2, 3]
        message.type = .pushNotificationRegistration
        #expect(!SegmentMessage.isSegment(message.encoded()))
    }

    @Test func `bytes that are not protobuf are not a segment`() {
        let bytes = Self.message(segmentsCount: 2).encoded()
        #expect(!SegmentMessage.isSegment(Array(bytes.dropLast())))
        #expect(!SegmentMessage.isSegment(bytes + [0xFF]))
    }
}
