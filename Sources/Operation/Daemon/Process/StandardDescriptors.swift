import Glibc

/// Keeps the descriptors of standard input, output and error for their purpose.
package enum StandardDescriptors {
    /// Opens `/dev/null` in place of each of the three descriptors that the parent process has closed.
    ///
    /// Otherwise the next file that the process opens gets the number: Dispatch's epoll descriptor became standard error, and the log's
    /// `poll` on it took events from the thread that waits for signals. Call this before anything else opens a file.
    package static func openClosed() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // open(2) returns the lowest free number, which is this descriptor's.
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }
}
