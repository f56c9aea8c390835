/// What an operator can do about a push that Apple or Google did not take (docs/reference/GORUSH.md "Error texts").
enum Remedy {
    /// Returns our reason, with what Apple or Google said if that says more, or nil without either.
    static func text(reason: String?, words: String?) -> String? {
        guard let reason, let words else { return reason ?? words }
        return words.contains(reason) ? words : "\(reason): \(words)"
    }

    /// Returns the remedy for a text that contains a reason from us or from Apple or Google, or is about readiness. Returns nil if none is
    /// known.
    static func of(_ text: String) -> String? {
        remedies.first { $0.texts.contains { text.contains($0) } }?.remedy
    }

    /// The first row with a text that occurs decides, so texts from Apple and Google precede our reasons.
    private static let remedies: [(texts: [String], remedy: String)] = [
        (
            ["tls: ", "x509: "],
            "gorush and Apple or Google reject each other's certificate: renew gorush's .p12, or its list of authorities and its clock."
        ),
        (
            ["Unregistered", "ExpiredToken"],
            "The app was removed from the device, or has a newer token: read the token from the app again."
        ),
        (
            ["BadDeviceToken", "MissingDeviceToken"],
            "The token belongs to Apple's other environment or to another app: compare ios.production of gorush with the build of the app."
        ),
        (
            ["DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic", "MissingTopic", "unproven bundle id"],
            "--bundle-id must be the app's bundle id, and belong to the team of gorush's key. Name it in registration.apnTopics."
        ),
        (
            [
                "SenderId mismatch", "mismatched sender id", "Requested entity was not found", "NotRegistered", "unregistered device",
                "The registration token is not", "InvalidRegistration", "invalid registration token",
            ],
            "The token belongs to another Firebase project than gorush's service account, or is no longer valid."
        ),
        (
            ["cannot fetch token: 5", "cannot fetch token: Post"],
            "gorush does not reach Google to sign in: look at its network."
        ),
        (
            [
                "ProviderToken", "KeyId", "BadCertificate", "Forbidden", "oauth2", "cannot fetch token", "credential", "ermission",
                "has not been used in project",
            ],
            "Apple or Google rejects gorush itself: correct its key, key id and team, its service account, or its machine's clock."
        ),
        (
            ["Auth error from APNS"],
            "The Firebase project has no key of Apple, or this is a token for iOS or the web: register it with --token-type apn."
        ),
        (
            ["TooManyRequests", "Resource has been exhausted", "Quota exceeded"],
            "The device or the project gets too many pushes. The server waits up to 10 minutes between attempts."
        ),
        (
            ["PayloadTooLarge", "too big"],
            "The fields that gorush.ios or gorush.android add make the push too long: shorten them. "
                + "The next attempt leaves the message out."
        ),
        (
            [
                "Request contains an invalid argument", "fcm service send message error", "BadPriority", "InvalidPushType", "BadCollapseId",
                "BadExpirationDate", "BadMessageId", "BadPath", "PayloadEmpty", "rejected by gorush",
            ],
            "A field of the push is invalid: look at gorush.ios, gorush.android and gorush.types. "
                + "If all pushes fail, one of these is wrong."
        ),
        (
            [
                "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout", "The service is currently unavailable",
                "Internal error encountered", "unexpected http response", "FCM server error", "context canceled",
            ],
            "Apple or Google has a fault of its own, or gorush was stopped meanwhile."
        ),
        (
            [
                "network error", "unknown error while making an http call", "timed out while making an http call",
                "failed to establish a connection", "context deadline exceeded", "no response in time",
            ],
            "gorush does not reach Apple or Google: look at its network, its proxy and its firewall."
        ),
        (
            ["age in doubt"],
            "The clock of the server has made a step. The server waits until it has run for ten minutes, or until the clock is right again."
        ),
        (
            ["suspected token"],
            "Apple or Google rejected the device less than 10 minutes ago: try again later."
        ),
        (
            ["a proxy answers", "status 413"],
            "The proxy in front of gorush does not reach it, or limits requests: look at the proxy's log, and whether gorush runs."
        ),
        (
            ["platform disabled", "no such platform"],
            "gorush does not serve this platform: set ios.enabled or android.enabled in its configuration."
        ),
        (
            [
                "gorush is not reachable", "gorush cannot be used", "gorush runs in async mode", "gorush ignores core.sync",
                "does not show",
                "unavailable", "configuration", "no response", "wrong count", "over limit",
            ],
            "Start gorush, or correct its address or its configuration: `pushserver check-config --probe` says whether it is right."
        ),
        (["not a device token"], "The app registered a token that Apple or Google cannot have issued: read the token from the app again."),
        (["not a bundle id"], "The app registered a bundle id that Apple cannot have issued: correct it in the app."),
        (
            ["registered for another app", "registered with another kind of token"],
            "The device has registered anew since the push was accepted, so the push no longer concerns it."
        ),
        (["queue full"], "The queue of the route is full: look at the server's /health/ready."),
        (["lifetime"], "No attempt succeeded within gorush.pushLifetime: look at the server's /health/ready, and at its log of that time."),
        (["lease ended"], "The server lost its database for a while, and another one took its pushes over: look at both logs."),
    ]
}
