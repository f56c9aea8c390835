import Synchronization

/// An HTTP/1.1 client: libcurl's multi handle on a separate thread, so that the cooperative pool is never blocked.
///
/// Requests share connections, which are kept alive for five minutes at most. The client sends a request at most once, except that it
/// repeats a GET if a kept connection was dead. It ignores proxies that the environment names.
package final class HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// The maximum number of connections to a host. Further requests to it wait until a connection is free.
        package var maximumConnectionsPerHost: Int
        /// The path of a PEM file. Nil means the certificates that the system trusts.
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

    /// Creates a client. Its thread starts with the first request.
    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    deinit {
        shutdown()
    }

    /// Sends a request and waits for the complete response. Cancelling the task aborts the transfer.
    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        startThread()
        let identifier = lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CommandQueue.Continuation) in
                guard !Task.isCancelled else {
                    return continuation.resume(returning: .failure(HTTPError(.cancelled, requestMayHaveArrived: false)))
                }
                commands.post(.start(identifier, request, continuation))
                // A cancellation before the start command named a transfer that the thread did not know yet, so it is repeated.
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

    /// Stops the thread without waiting for it. Requests in flight and later requests fail with `cancelled`.
    package func shutdown() {
        commands.post(.stop)
    }
}
