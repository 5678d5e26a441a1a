import { builtinModules, createRequire } from 'node:module'
import type { Plugin } from 'esbuild'

const require = createRequire(import.meta.url)

/**
 * Loads Node's own modules through process.getBuiltinModule. An ESM import reads every export of the module, which runs
 * its lazy getters: node:http then loads undici (about 30 ms instead of 4), node:process takes about 7 ms. Only names
 * that the bundle uses are read, because esbuild drops the others.
 */
export function throughBuiltinModule(): Plugin {
  return {
    name: 'through-builtin-module',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(node:)?[a-z][a-z0-9_/]*$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, '')
        if (!builtinModules.includes(name)) return undefined
        const namespace = kind === 'import-statement' ? 'builtin' : 'builtin-object'
        return { path: name, namespace, sideEffects: false }
      })
      onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: facade(path), loader: 'js' }))
      // import() and require() return the whole module, so they get the object itself. Its getters are not run.
      onLoad({ filter: /.*/, namespace: 'builtin-object' }, ({ path }) => {
        return { contents: `module.exports = process.getBuiltinModule('node:${path}')`, loader: 'js' }
      })
    },
  }
}

function facade(name: string): string {
  const names = Object.keys(require(`node:${name}`)).filter((key) => key !== 'default')
  const exported = names.map((key, index) => {
    return `const e${index} = /* @__PURE__ */ (() => builtin[${JSON.stringify(key)}])()\nexport { e${index} as ${key} }`
  })
  const builtin = `const builtin = /* @__PURE__ */ (() => process.getBuiltinModule('node:${name}'))()`
  return [builtin, 'export default builtin', ...exported].join('\n')
}
