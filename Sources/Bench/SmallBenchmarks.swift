import CLibCrypto
import Engine
import Envelope
import StatusCrypto
import Store
import Wire

/// One part at a time, on one thread.
package enum SmallBenchmarks {
    /// Our sponge, and libcrypto's on the same input: its SHAKE-256 is the same function, and it has no Keccak-256.
    package static func keccak(_ options: Options) -> Report {
        var report = Report("keccak")
        guard let shake = unsafe EVP_MD_fetch(nil, "SHAKE256", nil), let context = unsafe EVP_MD_CTX_new() else { return report }
        defer {
            unsafe EVP_MD_CTX_free(context)
            unsafe EVP_MD_free(shake)
        }
        for byteCount in [33, 136, 1_024, 16_384] {
            let bytes = [UInt8](repeating: 0xA5, count: byteCount)
            var output = [UInt8](repeating: 0, count: 64)
            let runs = 0..<options.runCount
            options.progress.say("keccak: \(byteCount) bytes")
            report.add(
                "Keccak-256 of \(byteCount) bytes", runs.map { _ in Timing.rate(for: options.duration) { keep(Keccak.keccak256(bytes)) } },
                unit: "/s")
            report.add(
                "SHAKE-256 of \(byteCount) bytes", runs.map { _ in Timing.rate(for: options.duration) { keep(Keccak.shake256(bytes)) } },
                unit: "/s")
            report.add(
                "SHAKE-256 of \(byteCount) bytes, libcrypto",
                runs.map { _ in
                    Timing.rate(for: options.duration) {
                        _ = unsafe EVP_DigestInit_ex2(context, shake, nil)
                        _ = unsafe EVP_DigestUpdate(context, bytes, bytes.count)
                        _ = unsafe EVP_DigestFinalXOF(context, &output, 64)
                    }
                }, unit: "/s")
        }
        return report
    }

    /// Verdicts on content topics as they come, for a million clients: nearly all of a shard's traffic is foreign.
    package static func topicFilter(_ options: Options) -> Report {
        var report = Report("topic-filter")
        let clientCount = 1_000_000
        options.progress.say("topic-filter: \(2 * clientCount) topics")
        let memoryBefore = Machine.residentMegabytes() ?? .nan
        var table = TopicTable(minimumCapacity: 2 * clientCount)
        var random = SeededRandom(seed: 1)
        for registration in 1...clientCount {
            for isPrefixed in [false, true] {
                table.insert(
                    .init(registration: Int64(registration), isPrefixed: isPrefixed), topic: UInt32(truncatingIfNeeded: random.next()))
            }
        }
        let memory = (Machine.residentMegabytes() ?? .nan) - memoryBefore
        let directory = TopicDirectory(serverKey: Cast.server.publicKey, table: table)
        // The same generator: the first are topics of clients, the others nearly all foreign.
        var same = SeededRandom(seed: 1)
        var other = SeededRandom(seed: 2)
        let own = (0..<4_096).map { _ in Topic(rawValue: UInt32(truncatingIfNeeded: same.next())).contentTopic }
        let foreign = (0..<4_096).map { _ in Topic(rawValue: UInt32(truncatingIfNeeded: other.next())).contentTopic }
        for (name, contentTopics) in [("foreign", foreign), ("of clients", own)] {
            var wantedCount = 0
            report.add(
                "content topics, \(name)",
                (0..<options.runCount).map { _ in
                    Timing.rate(for: options.duration, batchCount: contentTopics.count) {
                        wantedCount = 0
                        for contentTopic in contentTopics {
                            if let topic = Topic(contentTopic: contentTopic), directory.wants(topic) { wantedCount += 1 }
                        }
                    }
                }, unit: "/s")
            report.add("wanted, \(name)", [100 * Double(wantedCount) / Double(contentTopics.count)], unit: "%")
        }
        report.add("memory of the table", [memory], unit: "MB")
        report.add("memory of a topic", [memory * 1e6 / Double(2 * clientCount)], unit: "bytes")
        return report
    }

    /// Payloads of 26/WAKU2-PAYLOAD: both encryptions, signed, with the data of a registration.
    package static func rfc26(_ options: Options) throws -> Report {
        var report = Report("rfc26")
        var random = SecureRandom()
        let recipient = Cast.key("recipient", 0)
        let signer = Cast.key("signer", 0)
        let key = SymmetricKey(Cast.digest("topic key", 0))
        let data = [UInt8](repeating: 3, count: 500)
        let asymmetric = try RFC26.sealAsymmetric(data, to: recipient.publicKey, signer: signer, using: &random)
        let symmetric = try RFC26.sealSymmetric(data, key: key, signer: signer, using: &random)
        let parts: [(String, () -> Void)] = [
            (
                "seal, asymmetric",
                { keep(try? RFC26.sealAsymmetric(data, to: recipient.publicKey, signer: signer, using: &random)) }
            ),
            ("open, asymmetric", { keep(try? RFC26.openAsymmetric(asymmetric, with: recipient)) }),
            ("seal, symmetric", { keep(try? RFC26.sealSymmetric(data, key: key, signer: signer, using: &random)) }),
            ("open, symmetric", { keep(try? RFC26.openSymmetric(symmetric, with: key)) }),
        ]
        for (name, part) in parts {
            options.progress.say("rfc26: \(name)")
            report.add(name, (0..<options.runCount).map { _ in Timing.rate(for: options.duration, part) }, unit: "/s")
        }
        return report
    }
}
