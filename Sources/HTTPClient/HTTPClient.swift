import Synchronization

/// An HTTP/1.1 client: libcurl's multi handle on a thread of its own, so that the cooperative pool is never blocked.
///
/// Connections are kept alive and shared by all requests. A request is sent at most once, except that a GET is sent again when a kept
/// connection turns out to be dead. Proxies of the environment are not used.
package final class HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// Further requests to that host wait until a connection is free.
        package var maximumConnectionsPerHost: Int
        /// PEM; nil: the certificates that the system trusts.
        package var certificateAuthorityFile: String?

        package init(maximumConnectionsPerHost: Int = 16, certificateAuthorityFile: String? = nil) {
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.certificateAuthorityFile = certificateAuthorityFile
        }
    }

    private let configuration: Configuration
    private let commands = CommandQueue()
    private let hasThread = Atomic(false)
    private let lastIdentifier = Atomic<UInt64>(0)

    /// Does nothing yet: the thread starts with the first request.
    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    deinit {
        shutdown()
    }

    /// Sends the request and waits for the whole answer. Cancelling the task aborts the transfer.
    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        startThread()
        let identifier = lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CommandQueue.Continuation) in
                guard !Task.isCancelled else {
                    return continuation.resume(returning: .failure(HTTPError(.cancelled, requestMayHaveArrived: false)))
                }
                commands.post(.start(identifier, request, continuation))
                // A cancellation between the look and the start named a transfer that nobody knew yet.
                if Task.isCancelled { commands.post(.cancel(identifier)) }
            }
        } onCancel: {
            commands.post(.cancel(identifier))
        }
        return try result.get()
    }

    private func startThread() {
        // The thread must not hold the client, whose end is what stops it.
        if !hasThread.exchange(true, ordering: .relaxed) { TransferThreads.start(commands: commands, configuration: configuration) }
    }

    /// Ends the thread. Requests under way and later ones fail with `cancelled`. Does not wait.
    package func shutdown() {
        commands.post(.stop)
    }
}
