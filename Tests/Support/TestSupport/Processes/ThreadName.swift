import Foundation

/// Returns the kernel's name of the current thread.
package func currentThreadName() -> String {
    let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return text?.trimmingCharacters(in: .newlines) ?? ""
}
