// swift-tools-version: 6.2
import PackageDescription

// A package as an app's would be: it sees what is public, and nothing else.
let package = Package(
    name: "Examples",
    dependencies: [.package(name: "pushserver", path: "..")],
    targets: [
        .executableTarget(
            name: "Quickstart", dependencies: [.product(name: "PushClient", package: "pushserver")],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        // The code that the documentation shows (Scripts/check-snippets).
        .target(
            name: "Snippets", dependencies: [.product(name: "PushClient", package: "pushserver")],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    ]
)
