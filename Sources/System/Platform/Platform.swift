// The system's C library, and what differs between systems. Other files in the client's modules import this module instead of Glibc or
// Darwin, so that a port only has to look at this file.
#if canImport(Darwin)
    @_exported public import Darwin
#elseif canImport(Musl)
    @_exported public import Musl
#elseif canImport(Android)
    @_exported public import Android
#else
    @_exported public import Glibc
#endif

private final class ThreadBody {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Starts a thread, which nobody waits for. Foundation's threads would make a small app link all of Foundation.
///
/// - Parameter name: The name that debuggers show, at most 15 bytes (proc(5)).
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    let argument = unsafe Unmanaged.passRetained(
        ThreadBody {
            nameThread(name)
            body()
        }
    ).toOpaque()
    #if canImport(Darwin)
        var thread: pthread_t?
        let status = unsafe pthread_create(&thread, nil, { run($0) }, argument)
        if status == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
    #else
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, { unsafe $0.flatMap { unsafe run($0) } }, argument)
        if status == 0 { pthread_detach(thread) }
    #endif
    // A system without resources for a thread. The process ends, as Swift's own runtime would.
    guard status == 0 else { fatalError("no thread can be started") }
}

/// Runs a body and releases it. The pointer was retained for the thread.
private func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

private func nameThread(_ name: String) {
    #if canImport(Darwin)
        pthread_setname_np(name)
    #else
        // A thread whose name cannot be set works without a name.
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        var text = name
        _ = text.withUTF8 { unsafe write(file, $0.baseAddress, $0.count) }
        close(file)
    #endif
}
