/// What an operator can do about a push that was not delivered, or about a route, by who answered and what: gorush itself, a proxy in front
/// of it, or Apple or Google through gorush (docs/reference/GORUSH.md "Error texts").
package struct Remedy: Sendable {
    /// Who gave the answer.
    package enum Answerer: String, Sendable {
        case gorush = "gorush"
        case proxy = "a proxy in front of gorush"
        case provider = "Apple or Google, through gorush"
        /// Nobody, or this server decided by itself.
        case nobody = "nobody"
    }

    package var answerer: Answerer
    /// Texts of which one occurs in what was answered.
    package var texts: [String]
    /// The remedy in one or two sentences.
    package var text: String
    /// The page and the heading with the long form.
    package var page: String

    /// Returns our reason, with what Apple or Google said if that says more, or nil without either.
    package static func text(reason: String?, words: String?) -> String? {
        guard let reason, let words else { return reason ?? words }
        return words.contains(reason) ? words : "\(reason): \(words)"
    }

    /// Returns the remedy for a text that contains a reason from us or from Apple or Google, or is about readiness. Returns nil if none is
    /// known.
    package static func of(_ text: String) -> Remedy? { all.first { $0.texts.contains { text.contains($0) } } }

    private init(_ answerer: Answerer, _ texts: [String], _ text: String, _ page: String) {
        (self.answerer, self.texts, self.text, self.page) = (answerer, texts, text, page)
    }

    private static let credentials = "CREDENTIALS.md#when-one-is-refused"
    private static let nothing = "REASONS.md#-delivers-nothing-not-even-to-devices-that-have-worked"
    private static let late = "DELIVERY.md#a-late-push"
    private static let device = "DELIVERY.md#check-of-a-device"
    private static let settings = "DELIVERY.md#settings-of-gorush"
    private static let proxy = "REASONS.md#a-proxy-answers--instead-of-gorush"
    private static let warnings = "REASONS.md#warnings"

    /// The first row with a text that occurs decides, so texts from Apple and Google precede our reasons.
    package static let all: [Remedy] = [
        Remedy(
            .proxy, ["a proxy answers", "a proxy in front of it does not pass them on"],
            "The proxy in front of gorush does not reach it, or limits requests: look at the proxy's log, and whether gorush runs.",
            proxy),
        Remedy(
            .proxy, ["a proxy did not wait"],
            "The proxy in front of gorush waits too short: let it wait for 75 s. Apple or Google may be slow: then wait.", proxy),
        Remedy(.proxy, ["status 413", "too large (413)"], "The proxy in front of gorush limits bodies: let it accept 16 KB.", proxy),
        Remedy(
            .gorush, ["open connections only", "several gorush behind its address"],
            "Look at gorush's name in DNS, at its certificate, and whether each gorush behind its address runs.",
            "REASONS.md#gorush-is-not-reachable"),
        Remedy(
            .provider, ["in turn: two gorush"],
            "Give each gorush behind the address the same keys, project and environment, or a route of its own.", warnings),
        Remedy(
            .provider, ["dead-tokens list"],
            "Look at the devices with `pushctl dead-tokens list`. If they are not gone, `pushctl dead-tokens restore` brings them back.",
            "RUNBOOK.md#pushserversuspectedtokens"),
        Remedy(
            .provider, ["tls: ", "x509: "],
            "gorush and Apple or Google reject each other's certificate: renew gorush's .p12, or its list of authorities and its clock.",
            credentials),
        Remedy(
            .provider, ["Unregistered", "ExpiredToken"],
            "The app was removed from the device, or has a newer token: read the token from the app again.", device),
        Remedy(
            .provider, ["BadDeviceToken", "MissingDeviceToken"],
            "The token belongs to Apple's other environment or to another app: compare ios.production of gorush with the build of the app.",
            nothing),
        Remedy(
            .provider, ["DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic", "MissingTopic", "unproven bundle id"],
            "--bundle-id must be the app's bundle id, and belong to the team of gorush's key. Name it in registration.apnTopics.", nothing),
        Remedy(
            .provider,
            [
                "SenderId mismatch", "mismatched sender id", "Requested entity was not found", "NotRegistered", "unregistered device",
                "The registration token is not", "InvalidRegistration", "invalid registration token",
            ],
            "The token belongs to another Firebase project than gorush's service account, or is no longer valid.", nothing),
        Remedy(
            .provider, ["cannot fetch token: 5", "cannot fetch token: Post"],
            "gorush does not reach Google to sign in: look at its network.", credentials),
        Remedy(
            .provider,
            [
                "ProviderToken", "KeyId", "BadCertificate", "Forbidden", "oauth2", "cannot fetch token", "credential", "ermission",
                "has not been used in project",
            ],
            "Apple or Google rejects gorush itself: correct its key, key id and team, its service account, or its machine's clock.",
            credentials),
        Remedy(
            .provider, ["Auth error from APNS"],
            "The Firebase project has no key of Apple, or this is a token for iOS or the web: register it with --token-type apn.", device),
        Remedy(
            .provider, ["TooManyRequests", "Resource has been exhausted", "Quota exceeded"],
            "The device or the project gets too many pushes. The server waits up to 10 minutes between attempts.",
            "NOTIFICATIONS.md#quotas-and-duplicates"),
        Remedy(
            .provider, ["PayloadTooLarge", "too big"],
            "The fields that gorush.ios or gorush.android add make the push too long: shorten them. "
                + "The next attempt leaves the message out.",
            "NOTIFICATIONS.md#which-field-wins"),
        Remedy(
            .provider,
            [
                "Request contains an invalid argument", "fcm service send message error", "BadPriority", "InvalidPushType",
                "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPath", "PayloadEmpty",
            ],
            "A field of the push is invalid: look at gorush.ios, gorush.android and gorush.types. "
                + "If all pushes fail, one of these is wrong.",
            "NOTIFICATIONS.md#which-field-wins"),
        Remedy(
            .provider,
            [
                "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout", "The service is currently unavailable",
                "Internal error encountered", "unexpected http response", "FCM server error", "context canceled",
            ],
            "Apple or Google has a fault of its own, or gorush was stopped meanwhile.", nothing),
        Remedy(
            .provider,
            [
                "network error", "unknown error while making an http call", "timed out while making an http call",
                "failed to establish a connection", "context deadline exceeded",
            ],
            "Apple or Google answers late, or gorush does not reach them: wait, and if it stays look at gorush's network and its firewall.",
            nothing),
        Remedy(
            .gorush, ["rejected by gorush"],
            "A field of the push is invalid: look at gorush.ios, gorush.android and gorush.types.", "NOTIFICATIONS.md#which-field-wins"),
        Remedy(
            .nobody, ["no response in time"],
            "Apple or Google answers late, or gorush does not reach them: wait, and if it stays look at gorush's network and its firewall.",
            nothing),
        Remedy(
            .nobody, ["age in doubt"],
            "The server's clock has made a step. The server waits until it has run for ten minutes, or until the clock is right again.",
            "RUNBOOK.md#pushserverclockskew"),
        Remedy(.provider, ["suspected token"], "Apple or Google rejected the device less than 10 minutes ago: try again later.", device),
        Remedy(
            .gorush, ["platform disabled", "no such platform"],
            "gorush does not serve this platform: set ios.enabled or android.enabled in its configuration.",
            "REASONS.md#gorush-has--enabled-false"),
        Remedy(
            .gorush,
            [
                "gorush is not reachable", "gorush cannot be used", "gorush runs in async mode", "gorush ignores core.sync",
                "does not show", "unavailable", "configuration", "no response", "wrong count", "over limit",
            ],
            "Start gorush, or correct its address or its configuration: `pushserver check-config --probe` says whether it is right.",
            settings),
        Remedy(
            .nobody, ["not a device token"],
            "The app registered a token that Apple or Google cannot have issued: read the token from the app again.", device),
        Remedy(
            .nobody, ["not a bundle id"], "The app registered a bundle id that Apple cannot have issued: correct it in the app.", device),
        Remedy(
            .nobody, ["registered for another app", "registered with another kind of token"],
            "The device has registered anew since the push was accepted, so the push no longer concerns it.", device),
        Remedy(
            .nobody, ["queue full"],
            "The queue of the route is full: look at the server's /health/ready.", "RUNBOOK.md#pushserveroutboxgrowing"),
        Remedy(
            .nobody, ["lifetime"],
            "No attempt succeeded within gorush.pushLifetime: look at the server's /health/ready, and at its log of that time.", late),
        Remedy(
            .nobody, ["lease ended"],
            "The server lost its database for a while, and another one took its pushes over: look at both logs.",
            "REASONS.md#the-lease-of-this-server-was-not-renewed"),
    ]
}
