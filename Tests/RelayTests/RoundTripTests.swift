import Bytes
import Envelope
import Foundation
import HTTPClient
import StatusCrypto
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// What a node passes on and keeps is what it got, in every field.
@Suite(.safetyNet) struct RoundTripTests {
    private static func envelope(_ number: UInt8, isEphemeral: Bool = false) -> WakuEnvelope {
        var envelope = WakuEnvelope.sample([number, 1], contentTopic: "/wanted/1/ä \"\(number)\"/proto")
        envelope.message.version = 2
        envelope.message.meta = [number, 2, 0xFF]
        envelope.message.ephemeral = isEphemeral
        return envelope
    }

    @Test func `the message has something else in each field`() {
        expectAllFields(of: [Self.envelope(1), Self.envelope(1, isEphemeral: true)])
    }

    @Test(arguments: [false, true]) func `a message passes through a relay's REST API`(isEphemeral: Bool) async throws {
        try await withNode { node async throws in
            let api = WakuNode(url: node.url, client: HTTPClient())
            try await api.subscribe(to: [TestNode.topic])
            var envelope = Self.envelope(1, isEphemeral: isEphemeral)
            envelope.message.timestamp = node.clock.now().nanoseconds
            try await api.publish(envelope)
            #expect(try await api.takeMessages(on: TestNode.topic) == [envelope])
            var query = StoreQuery()
            query.contentTopics = [envelope.message.contentTopic]
            let rows = try await api.storePage(query).rows
            #expect(rows.map(\.envelope) == (isEphemeral ? [] : [envelope]))
            #expect(rows.map(\.digest) == (isEphemeral ? [] : [envelope.hash]))
        }
    }

    // MARK: Files

    /// Writes messages to an archive's file, and returns its length after each.
    private func write(_ envelopes: [WakuEnvelope], to path: String) throws -> [UInt64] {
        let (file, _) = try ArchiveFile.open(path: path)
        return try envelopes.map { envelope in
            try file.append(envelope)
            return try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64)
        }
    }

    private func read(_ path: String) throws -> [WakuEnvelope] {
        let page = try ArchiveFile.open(path: path).archive.page(.init())
        return try #require(page).entries.map(\.envelope).sorted { $0.message.payload.lexicographicallyPrecedes($1.message.payload) }
    }

    @Test func `an archive's file keeps each field of its messages`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("archive")
        let envelopes = [Self.envelope(1), Self.envelope(2, isEphemeral: true)]
        _ = try write(envelopes, to: path)
        #expect(try read(path) == envelopes)
    }

    @Test func `a file that ends anywhere in an entry is continued after the entry before`() throws {
        let folder = try TemporaryFolder()
        let lengths = try write([Self.envelope(1), Self.envelope(2)], to: folder.path("whole"))
        let whole = try Data(contentsOf: URL(filePath: folder.path("whole")))
        for length in Int(lengths[0])..<Int(lengths[1]) {
            let path = folder.path("cut-\(length)")
            try whole.prefix(length).write(to: URL(filePath: path))
            _ = try write([Self.envelope(3)], to: path)
            // Another message is shorter than what was cut off.
            #expect(try read(path) == [Self.envelope(1), Self.envelope(3)], "\(length) bytes")
        }
    }
}
