import CAllocationMeter
import Foundation
import PushPayload

extension FuzzTarget {
    /// What an app's extension does with a notification: it decodes it, and looks whether it has shown it. Each line of the input is the
    /// value of one name.
    static let pushPayload = FuzzTarget(
        name: "push payload", vectors: [],
        samples: [
            "0x01\n0x02\n[\"b6ae4fde-bb65-11ea-b3de-0242ac130004\"]", "\n\n\n0x01\n0x02\n0x03\nstatus-app://chats",
            "0x" + String(repeating: "ab", count: 2_000), "\n0x" + String(repeating: "ab", count: 2_000),
        ]
    ) { input throws(Violation) in
        let names = ["chat_id", "message", "installation_ids", "chatId", "encryptedMessage", "publicKey", "deepLink"]
        // Apple and Google deliver 4 KB at most.
        let lines = String(decoding: input.prefix(4_096), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        var data: [String: String] = [:]
        for (name, line) in zip(names, lines) where !line.isEmpty { data[name] = String(line) }

        // The file is written before the measurement.
        let seenPushes = seenPushes
        allocation_meter_start()
        let google = PushPayload(data: data)
        let apple = PushPayload(userInfo: data)
        let isNew = google.map { (try? seenPushes.insert($0)) ?? false }
        let byteCount = allocation_meter_total()

        try expect(byteCount <= maximumByteCount, "a notification takes \(maximumByteCount) bytes at most, and took \(byteCount)")
        try expect(google == apple, "both services' notifications are read alike")
        try expect((google?.ciphertext.count ?? 0) <= 2_048, "two digits make a byte")
        try expect(isNew != false || google?.ciphertext.isEmpty == false, "a push without ciphertext is never a repetition")
    }

    /// Enough for any notification, and little of the 24 MB of an extension.
    private static let maximumByteCount = 1 << 20

    /// A file that is full.
    private static let seenPushes: SeenPushes = {
        let file = FileManager.default.temporaryDirectory.appending(path: "pushfuzz-seen-pushes")
        let seconds = UInt64(Date().timeIntervalSince1970)
        var data = Data()
        for number in 0..<UInt8.max {
            for _ in 0..<4 {
                data += (0..<8).map { UInt8(truncatingIfNeeded: seconds >> (56 - 8 * $0)) } + [UInt8](repeating: number, count: 32)
            }
        }
        // Without the file, the pushes of this run fill it.
        try? data.prefix(40 * SeenPushes.maximumCount).write(to: file)
        return SeenPushes(file: file)
    }()
}
