import Bytes
import StatusCrypto

extension GorushNotification {
    /// The padding's name in `data`. Apps ignore it.
    static let paddingName = "padding"
    /// What an empty padding adds to the payload: a comma, the quoted name, a colon and two quotes.
    private static let emptyPaddingByteCount = paddingName.utf8.count + 6

    /// Adds text to `data` that brings the payload to a multiple of a size, so that Apple and Google do not see how long its message is. A
    /// payload for which the next multiple is beyond their limit gets the limit.
    ///
    /// - Parameter multiple: 0 adds nothing.
    mutating func pad(toMultipleOf multiple: Int) {
        guard multiple > 0 else { return }
        padding = nil
        let byteCount = GorushPayload.byteCount(of: self)
        guard !byteCount.isMultiple(of: multiple) else { return }
        let shortest = byteCount + Self.emptyPaddingByteCount
        let goal = min((shortest + multiple - 1) / multiple * multiple, GorushPayload.maximumByteCount)
        guard goal >= shortest else { return }
        padding = paddingText(byteCount: goal - shortest)
    }

    /// Returns hexadecimal digits that differ between attempts, because the identifier does.
    private func paddingText(byteCount: Int) -> String {
        var text = ""
        var digest = SHA256.hash(Array((identifier ?? "").utf8))
        while text.utf8.count < byteCount {
            text += Hex.encode(digest.bytes)
            digest = SHA256.hash(digest.bytes)
        }
        return String(text.prefix(byteCount))
    }
}
