/// Why an attempt failed, or a push finished. The raw value is stored, shown by `pushctl trace`, and never changes. Texts of Apple and
/// Google stand for the failure that they begin or occur in.
package enum PushReason: String, Sendable, CaseIterable {
    // Reasons that the server gives itself.
    /// A text of Apple or Google that this program does not know.
    case unknownText = "unknown text"
    case networkError = "network error"
    case noResponse = "no response"
    case noResponseInTime = "no response in time"
    case wrongCount = "wrong count"
    case unavailable
    case configuration
    case platformDisabled = "platform disabled"
    case overLimit = "over limit"
    /// A proxy's 429, 502 or 503.
    case proxyAnswered = "a proxy answers instead of gorush"
    /// A proxy's 408 or 504: gorush may have sent the push.
    case proxyTimedOut = "a proxy did not wait for gorush"
    case bodyTooLarge = "status 413"
    case rejectedByGorush = "rejected by gorush"
    case leaseEnded = "lease ended"
    case lifetime
    case unregistered
    case otherApp = "registered for another app"
    case otherTokenType = "registered with another kind of token"
    case noSuchPlatform = "no such platform"
    case invalidDeviceToken = "not a device token"
    case invalidBundleID = "not a bundle id"
    /// The budget for unproven bundle ids is spent.
    case unprovenBundleID = "unproven bundle id"
    /// Another push is attempted to the suspected device first.
    case suspectedToken = "suspected token"
    /// After a step of the clock, the push is too old by one of two times.
    case doubtfulAge = "age in doubt"
    case queueFull = "queue full"
    case forgotten
    case withdrawn
    case restored
    /// Only removed registrations have this reason, never a push.
    case unused

    // Apple.
    case apnsUnregistered = "Unregistered"
    case expiredToken = "ExpiredToken"
    case badDeviceToken = "BadDeviceToken"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case missingDeviceToken = "MissingDeviceToken"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    case idleTimeout = "IdleTimeout"
    case invalidProviderToken = "InvalidProviderToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case forbidden = "Forbidden"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case topicDisallowed = "TopicDisallowed"
    case badTopic = "BadTopic"
    case missingTopic = "MissingTopic"
    case payloadTooLarge = "PayloadTooLarge"
    case payloadEmpty = "PayloadEmpty"
    case badCollapseID = "BadCollapseId"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case invalidPushType = "InvalidPushType"
    case badPath = "BadPath"

    // Google, and the client libraries in gorush.
    case oauthServerFailed = "cannot fetch token: 5"
    case oauthUnreachable = "cannot fetch token: Post"
    case oauthRejected = "cannot fetch token"
    case oauthFailed = "oauth2: "
    case entityNotFound = "Requested entity was not found"
    case notRegistered = "NotRegistered"
    case unregisteredDevice = "unregistered device"
    case invalidFCMToken = "The registration token is not a valid FCM registration token"
    case senderMismatch = "SenderId mismatch"
    case invalidRegistrationToken = "invalid registration token"
    case invalidRegistration = "InvalidRegistration"
    case mismatchedSender = "mismatched sender id"
    case serviceUnavailableAtGoogle = "The service is currently unavailable"
    case internalErrorAtGoogle = "Internal error encountered"
    case resourceExhausted = "Resource has been exhausted"
    case quotaExceeded = "Quota exceeded"
    case serverErrorAtGoogle = "unexpected http response with status: 5"
    case callFailed = "unknown error while making an http call"
    case callTimedOut = "timed out while making an http call"
    case connectionFailed = "failed to establish a connection"
    case invalidCredentials = "invalid authentication credentials"
    case missingCredential = "missing required authentication credential"
    case projectDisabled = "has not been used in project"
    case callerNotPermitted = "caller does not have permission"
    case permission = "Permission"
    case apnsAuthorization = "Auth error from APNS"
    case fcmServerError = "FCM server error"
    case clientErrorAtGoogle = "unexpected http response with status: 4"
    case tooBig = "too big"
    case sendError = "fcm service send message error"
    case invalidArgument = "Request contains an invalid argument"
    case contextCanceled = "context canceled"
    case deadlineExceeded = "context deadline exceeded"
}
