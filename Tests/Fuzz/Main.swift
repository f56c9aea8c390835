// libFuzzer's build has an entry point of its own (LibFuzzer.swift).
#if !FUZZER
    import ArgumentParser

    @main enum Main {
        static func main() { PushFuzz.main() }
    }
#endif
