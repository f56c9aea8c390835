import FoundationEssentials

extension PushClientError {
    /// Enough for a sentence in any language.
    private static let maximumReasonLength = 300

    /// Returns the reason for an error that the app's node or state has thrown: the text that it has for users, else its description. The
    /// reason is printable, short and without a full stop, because a sentence follows or ends with it.
    static func reason(of error: any Error) -> String {
        let text = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
        var reason = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumReasonLength) {
            reason.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        var shortened = String(reason)
        while shortened.last == "." || shortened.last == " " { shortened.removeLast() }
        return shortened
    }
}
