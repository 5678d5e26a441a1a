import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import type { Profiler } from 'node:inspector'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { commonOptions, deployedSettings, smallSdk, throughBuiltinModule } from '#bin/bundle.ts'
import { functionEntries } from '#lib/function-entries.ts'
import { lambdaEnvironment } from './measure.ts'

/** The parts that share the CPU of a warm call, and the frames of their code: module and function. */
const parts: readonly [part: string, frames: RegExp][] = [
  ['AWS SDK: signature', /signature-v4|httpAuthSchemes|dynamodb-table\.ts (Sha256|update|digest)$/],
  ['AWS SDK: middleware, serialization', /node_modules\/(@aws-sdk|@smithy|@aws)\//],
  [
    'HTTP and sockets',
    /aws\/http-handler|^node:(_http|http|net|events|timers|stream|internal\/(streams?|timers)\b)/,
  ],
  ['token', /node_modules\/jose|identity\/token/],
  [
    'validation of headers and body',
    /node_modules\/(valibot|content-type)|request\/(strict-json|parse-headers|check-request)/,
  ],
  ['log line', /base\/log\.ts/],
  ['middy', /node_modules\/@middy/],
  ['all other code of the service', /^(shared|functions|deployed-settings)/],
  ['garbage collection', /\(garbage collector\)$/],
]
const rest = 'Node: promises, native code'

/** A function, and the events with which it is profiled. */
export interface Profiled {
  name: string
  events: readonly unknown[]
}

/**
 * Profiles warm calls of functions. Their bundles are not minified, so frames can be assigned to modules.
 * @returns the percentage of the CPU of the main thread that each part takes, by function
 */
export async function profiles(
  functions: readonly Profiled[],
  {
    folder,
    settings,
    ...environment
  }: { folder: string; settings: string; endpoint: string; tableName: string },
): Promise<Record<string, number>[]> {
  const shares: Record<string, number>[] = []
  for (const { name, events } of functions) {
    const bundle = join(folder, `${name}.mjs`)
    await build({
      ...commonOptions,
      minify: false,
      entryPoints: [functionEntries()[name] ?? ''],
      outfile: bundle,
      plugins: [deployedSettings(settings), smallSdk(), throughBuiltinModule()],
    })
    const files = { events: `${bundle}.events.json`, profile: `${bundle}.cpuprofile` }
    await writeFile(files.events, JSON.stringify(events))
    const script = join(import.meta.dirname, 'profile-function.mjs')
    const args = [script, pathToFileURL(bundle).href, files.events, files.profile]
    const env = { ...lambdaEnvironment(environment.endpoint), TABLE_NAME: environment.tableName }
    await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1e9 })
    shares.push(
      sharesOf(JSON.parse(await readFile(files.profile, 'utf8')), modulesOf(await readFile(bundle, 'utf8'))),
    )
  }
  return shares
}

/** Returns the module of each line of a bundle: esbuild puts a comment with its path before it. */
function modulesOf(code: string): string[] {
  let module = ''
  return code.split('\n').map((line) => {
    module = /^ {0,4}\/\/ ((?:[\w-]+:)?(?:node_modules|shared|functions|bin)\/\S+)$/.exec(line)?.[1] ?? module
    return module
  })
}

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile, modules: string[]) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  )
  const frameOf = ({ callFrame: { url, functionName, lineNumber } }: Profiler.ProfileNode) =>
    `${url.startsWith('file:') ? modules[lineNumber] : url} ${functionName}`
  /** Native code counts for the code that calls it. */
  const partOf = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const node = byId.get(at)
      const part = node && parts.find(([, frames]) => frames.test(frameOf(node)))
      if (part) return part[0]
    }
    return rest
  }
  const times: Record<string, number> = Object.fromEntries(
    [...parts.map(([part]) => part), rest].map((part) => [part, 0]),
  )
  samples.forEach((id, index) => {
    if (byId.get(id)?.callFrame.functionName === '(idle)') return
    const part = partOf(id)
    times[part] = (times[part] ?? 0) + (timeDeltas[index] ?? 0)
  })
  const total = Object.values(times).reduce((sum, time) => sum + time, 0)
  return Object.fromEntries(Object.entries(times).map(([part, time]) => [part, (100 * time) / total]))
}

/** Returns the shares of two functions as a Markdown table. */
export function profilesAsMarkdown(
  titles: readonly string[],
  shares: readonly Record<string, number>[],
): string {
  const names = Object.keys(shares[0] ?? {}).toSorted((a, b) => (shares[0]?.[b] ?? 0) - (shares[0]?.[a] ?? 0))
  const rows = names.map(
    (name) => `| ${[name, ...shares.map((share) => `${share[name]?.toFixed(0)} %`)].join(' | ')} |`,
  )
  return [`| Part | ${titles.join(' | ')} |`, `|---|${titles.map(() => '---|').join('')}`, ...rows].join('\n')
}
