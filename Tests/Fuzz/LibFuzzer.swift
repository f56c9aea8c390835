#if FUZZER
    import Foundation

    // libFuzzer searches, guided by the code that an input reaches. A broken property traps, and libFuzzer writes its input to a file.
    // `Scripts/fuzz` builds this.

    @_extern(c, "LLVMFuzzerRunDriver") private func runDriver(
        _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    /// The target that `PUSHFUZZ_TARGET` names. The driver calls a C function, which captures no context.
    private let target = FuzzTarget.all.first { $0.name == ProcessInfo.processInfo.environment["PUSHFUZZ_TARGET"] }

    /// Runs libFuzzer. The package manager renames `main` to this entry point.
    @_cdecl("pushfuzz_main") func pushfuzzMain(
        _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    ) -> CInt {
        guard target != nil else {
            print("PUSHFUZZ_TARGET is not the name of a target; set it to one of: " + FuzzTarget.all.map(\.name).joined(separator: " "))
            return 64
        }
        var count = count
        var arguments = unsafe arguments
        return unsafe runDriver(&count, &arguments) { bytes, byteCount in
            do throws(Violation) {
                try target?.check(unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: byteCount)))
            } catch {
                fatalError("violated: \(error.property)")
            }
            return 0
        }
    }
#endif
