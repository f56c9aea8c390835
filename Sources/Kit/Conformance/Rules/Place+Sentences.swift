// The sentences of 71 from which several rules follow.
extension Rule.Place {
    static let partitionedTopic = under(
        "Registering Client", "A `PNR message` (Push Notification Registration) MUST be sent to the [partitioned topic]")
    static let secrecy = under("Registering Client", "for the public key of the node, encrypted with this key.")
    static let wrapping = under("Registering Client", "The message MUST be wrapped in a [`ApplicationMetadataMessage`]")
    static let encryption = under(
        "Registering Client", "The marshaled protobuf payload MUST also be encrypted with AES-GCM using the Diffie–Hellman key")
    static let record = under("Registering Client", "The content of the message MUST contain the following [protobuf record]")
    static let version = under(
        "Registering Client",
        "it MUST verify that `version` is non-zero and greater than the currently stored version for the public key and `installation_id` "
            + "of the sender, if any.")
    static let uuid = under("Registering Client", "it MUST verify that `access_token` is a valid uuid.")
    static let bundleID = under("Registering Client", "it MUST verify that `apn_topic` is set if token_type is APN_TOKEN.")
    static let emptyField = under(
        "Handle Errors",
        "If `token`, `installation_id`, `device_tokens`, `version` are empty, a response MUST be sent with `error` set to "
            + "`MALFORMED_MESSAGE`.")
    static let unsupportedType = under(
        "Handle Errors", "If `token_type` is not supported, a response MUST be sent with `error` set to `UNSUPPORTED_TOKEN_TYPE`.")
    static let signature = under(
        "Registering Client",
        "it MUST extract the public key of the sender from the signature and verify that the payload can be decrypted successfully.")
    static let undecryptable = under("Handle Errors", "If the message can’t be decrypted, the message MUST be discarded.")
    static let oldVersion = under(
        "Handle Errors",
        "If the `version` is equal or less than the currently stored `version`, a response MUST be sent with `error` set to "
            + "`VERSION_MISMATCH`.")
    static let success = under(
        "Handle Errors",
        "If the response is successful `success` MUST be set to `true` otherwise a response MUST be sent with `success` set to `false`.")
    static let otherError = under("Handle Errors", "If any other error occurs the `error` SHOULD be set to `INTERNAL_ERROR`.")
    static let grant = under(
        "Server Grant", "When receiving a grant, the server MUST validate that the signature matches the registering client.")
    static let removal = under(
        "Unregistering with a Server",
        "The server MUST remove all data about this user if `unregistering` is `true`, apart from the `hash` of the public key and the "
            + "`version` of the last options, in order to make sure that old messages are not processed.")
    static let queryTopic = under(
        "Handle Query Message",
        "it MUST be sent to the server on the topic derived from the hashed public key of the key we are querying")
    static let knownClient = under(
        "Handle Query Message", "If the server has information about the client a response MUST be sent")
    static let hiddenToken = under(
        "Handle Query Response",
        "If `allowed_key_list` is set `allowed_key_list` MUST be set and `access_token` MUST NOT be set.")
    static let shownToken = under(
        "Handle Query Response",
        "If `allowed_key_list` is not set `access_token` MUST be set and `allowed_key_list` MUST NOT be set.")
    static let accepted = under(
        "Handle Notification Response",
        "If the request is accepted `success` MUST be set to `true`. Otherwise `success` MUST be set to `false`.")
    static let messageID = under(
        "Handle Notification Request", "Where `message_id` is the `message_id` sent by the client.")
    static let allowedKeys = under(
        "PushNotificationRegistration", "`allowed_key_list`: a list of `access_token` encrypted with the AES key")
    static let validation = under(
        "Handle Notification Request", "On receiving the message, the push notification server MUST validate the access token.")
    static let notification = under(
        "Handle Notification Request", "If the access token is valid, a notification MUST be sent to the [gorush]")
    static let response = under("Handle Notification Request", "A server MUST return a response message")
    static let blockedChats = under(
        "PushNotificationRegistration", "Any chat id in this list will not trigger a notification.")
    static let mentions = under(
        "PushNotificationRegistration",
        "`allowed_mentions_chat_list`: a list of SHA2-256 hashes of chat ids where we want to receive mentions.")
    static let enabled = under("PushNotificationRegistration", "`enabled`: whether the device wants to be sent push notifications.")

    /// A sentence about a message's field, below "Protobuf Description".
    static func field(_ message: String, _ quote: String) -> Self { under(message, quote) }
}
