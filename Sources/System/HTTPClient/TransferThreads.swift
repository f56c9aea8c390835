import Dispatch
import Platform
import Synchronization
import Tasks

/// The threads that all clients use. They stop before the process exits, because exit(3) tears down libraries that they may be using.
enum TransferThreads {
    /// How long exit(3) waits for the threads at most, because a thread may be waiting for a name server.
    private static let maximumWait = DispatchTimeInterval.seconds(1)

    private static let mailboxes = Mutex<[ObjectIdentifier: CommandQueue]>([:])
    private static let running = DispatchGroup()
    /// Whether the exit handler is registered. The registration follows libcurl's initialisation, so that the handler runs before those
    /// that libcurl's libraries have registered.
    private static let endAtExit = TransferLoop.isInitialized && atexit { TransferThreads.end() } == 0

    static func start(commands: CommandQueue, configuration: HTTPClient.Configuration) {
        _ = endAtExit
        running.enter()
        mailboxes.withLock { $0[ObjectIdentifier(commands)] = commands }
        startThread(named: "HTTPClient") {
            TransferLoop.run(commands: commands, configuration: configuration)
            mailboxes.withLock { $0[ObjectIdentifier(commands)] = nil }
            running.leave()
        }
    }

    private static func end() {
        for commands in mailboxes.withLock({ Array($0.values) }) { commands.post(.stop) }
        _ = running.wait(timeout: .now() + maximumWait)
    }
}
