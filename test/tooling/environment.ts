import { createRequire } from 'node:module'
import vm from 'node:vm'

// Its types are right for require only.
const { TestEnvironment }: typeof import('jest-environment-node') = createRequire(import.meta.url)(
  'jest-environment-node',
)
const { compileFunction, SourceTextModule } = vm

declare module 'node:vm' {
  interface SourceTextModule {
    // Its types lack this method.
    createCachedData(): Buffer
  }
}

/**
 * What V8 made of the modules that this process has compiled, by kind and name. Each test file loads the same packages
 * again, and without it more than a third of that time goes into compiling them.
 */
const compiled = new Map<string, { source: string; cachedData: Buffer | undefined }>()

function known(key: string, source: string): Buffer | undefined {
  const found = compiled.get(key)
  return found?.source === source ? found.cachedData : undefined
}

/** Jest compiles ES modules with it. */
class CompiledModule extends SourceTextModule {
  constructor(source: string, options: vm.SourceTextModuleOptions = {}) {
    const key = `module ${options.identifier}`
    const cachedData = known(key, source)
    super(source, cachedData ? { ...options, cachedData } : options)
    if (!cachedData) compiled.set(key, { source, cachedData: this.createCachedData() })
  }
}

/** Jest compiles CommonJS modules with it. V8 ignores data that it cannot use. */
const compileOnce: typeof compileFunction = (source, parameters, options = {}) => {
  const key = `function ${options.filename}`
  const cachedData = known(key, source)
  if (cachedData) return compileFunction(source, parameters, { ...options, cachedData })
  const made = compileFunction(source, parameters, { ...options, produceCachedData: true })
  compiled.set(key, { source, cachedData: made.cachedData })
  return made
}

Object.assign(vm, { SourceTextModule: CompiledModule, compileFunction: compileOnce })

export default TestEnvironment
