swift build
.build/debug/pushserver identity
.build/debug/pushserver serve
