import Foundation

/// The name of the thread that runs this, as the kernel has it.
package func currentThreadName() -> String {
    let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return text?.trimmingCharacters(in: .newlines) ?? ""
}
