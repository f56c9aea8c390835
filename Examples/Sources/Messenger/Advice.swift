import PushClient

/// The app's reaction to an error.
func advice(_ error: PushClientError) -> String {
    switch error.code {
    case .nodeUnreachable: "Wait for the network. run() retries by itself; send a message's push again later."
    case .nodeRejected: "Let the node find peers: run() retries by itself."
    case .noReply: "Check the server's key if no server ever replies. The request may have had an effect all the same."
    case .registrationRejected where error.rejection == .internalError: "The server is in trouble: run() retries by itself."
    case .registrationRejected, .invalidRegistration: "Correct the device; the same one is rejected again. Fewer contacts, for example."
    case .requestTooLong: "Send fewer bytes: a push carries a message's ciphertext, not its attachments."
    case .stateUnusable: "Tell the user that the storage is full or broken. Do not delete the state before it can be read."
    // Later versions have further codes.
    default: "Show the sentence to the user."
    }
}
