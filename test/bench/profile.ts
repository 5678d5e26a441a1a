import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import type { Profiler } from 'node:inspector'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { throughBuiltinModule } from '#bin/build/builtin-modules.ts'
import { commonOptions, inlineSettings } from '#bin/build/bundle.ts'
import { smallSdk } from '#bin/build/small-sdk.ts'
import { entryPoints } from '#lib/functions/function-names.ts'
import { lambdaEnvironment } from './measure.ts'

/** The parts that share the CPU, and the frames of their code: module and function. */
const parts: readonly [part: string, frames: RegExp][] = [
  ['AWS SDK: signature', /signature-v4|httpAuthSchemes|dynamodb-table\.ts (Sha256|update|digest)$/],
  ['AWS SDK: middleware, serialization', /node_modules\/(@aws-sdk|@smithy|@aws)\//],
  [
    'HTTP and sockets',
    /aws\/http-handler|^node:(_http|http|net|events|timers|stream|internal\/(streams?|timers)\b)/,
  ],
  // Frames without a name are the code of a module that runs when it is loaded.
  ['loading: cryptography of Node', /^node:(internal\/crypto\/\w+|crypto) $/],
  [
    'loading: the bundle, other modules of Node',
    /^(bundle|node:internal\/(bootstrap|modules)\/\S+|node:\S+ $)/,
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
interface Profiled {
  name: string
  events: readonly unknown[]
}

/** Shares of CPU in percent, by part. */
type Shares = Record<string, number>

export interface Profile {
  /** Of starts with their first requests. */
  start: Shares
  /** Of warm calls. */
  warm: Shares
}

/**
 * Profiles a function: starts, each in a process of its own, and warm calls. Its bundle is not minified, so frames can be
 * assigned to modules.
 * @param starts how many processes
 */
export async function profiles(
  { name, events }: Profiled,
  starts: number,
  {
    folder,
    settings,
    ...environment
  }: { folder: string; settings: string; endpoint: string; tableName: string },
): Promise<Profile> {
  const bundle = join(folder, `${name}.mjs`)
  await build({
    ...commonOptions,
    minify: false,
    entryPoints: [entryPoints()[name] ?? ''],
    outfile: bundle,
    plugins: [inlineSettings(settings), smallSdk(), throughBuiltinModule()],
  })
  const modules = modulesOf(await readFile(bundle, 'utf8'))
  const { href } = pathToFileURL(bundle)
  const files = { events: `${bundle}.events.json`, profile: `${bundle}.cpuprofile` }
  const env = { ...lambdaEnvironment(environment.endpoint), TABLE_NAME: environment.tableName }
  const measure = async (sent: readonly unknown[], warmUp: number) => {
    await writeFile(files.events, JSON.stringify(sent))
    const script = join(import.meta.dirname, 'profile-function.mjs')
    const args = [script, href, files.events, files.profile, String(warmUp)]
    await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1e9 })
    return timesOf(JSON.parse(await readFile(files.profile, 'utf8')), href, modules)
  }
  const cold = []
  for (const event of events.slice(0, starts)) cold.push(await measure([event], 0))
  const warm = events.slice(starts)
  return { start: sharesOf(cold), warm: sharesOf([await measure(warm, Math.floor(warm.length / 2))]) }
}

/** Returns the module of each line of a bundle: esbuild puts a comment with its path before it. */
function modulesOf(code: string): string[] {
  let module = ''
  return code.split('\n').map((line) => {
    module = /^ {0,4}\/\/ ((?:[\w-]+:)?(?:node_modules|shared|functions|bin)\/\S+)$/.exec(line)?.[1] ?? module
    return module
  })
}

/** Returns the time of each part, in microseconds. */
function timesOf(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  bundle: string,
  modules: string[],
) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  )
  const frameOf = ({ callFrame: { url, functionName, lineNumber, columnNumber } }: Profiler.ProfileNode) => {
    if (url !== bundle) return `${url} ${functionName}`
    return lineNumber + columnNumber === 0 ? 'bundle' : `${modules[lineNumber]} ${functionName}`
  }
  /** Native code counts for the code that calls it. */
  const partOf = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const node = byId.get(at)
      const part = node && parts.find(([, frames]) => frames.test(frameOf(node)))
      if (part) return part[0]
    }
    return rest
  }
  const counts = ({ callFrame: { url, functionName } }: Profiler.ProfileNode) =>
    functionName !== '(idle)' && url !== 'node:inspector'
  const times = new Map<string, number>()
  samples.forEach((id, index) => {
    const node = byId.get(id)
    if (!node || !counts(node)) return
    const part = partOf(id)
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[index] ?? 0))
  })
  return times
}

function sharesOf(profiles: readonly Map<string, number>[]): Shares {
  const timeOf = (part: string) => profiles.reduce((sum, times) => sum + (times.get(part) ?? 0), 0)
  const names = [...parts.map(([part]) => part), rest]
  const total = names.reduce((sum, part) => sum + timeOf(part), 0)
  return Object.fromEntries(names.map((part) => [part, (100 * timeOf(part)) / total]))
}

/** Returns shares as a Markdown table with a column for each. */
export function profilesAsMarkdown(columns: Record<string, Shares>): string {
  const [titles, shares] = [Object.keys(columns), Object.values(columns)]
  const names = Object.keys(shares[0] ?? {}).toSorted((a, b) => (shares[0]?.[b] ?? 0) - (shares[0]?.[a] ?? 0))
  const rows = names.map(
    (name) => `| ${[name, ...shares.map((share) => `${share[name]?.toFixed(0)} %`)].join(' | ')} |`,
  )
  return [`| Part | ${titles.join(' | ')} |`, `|---|${titles.map(() => '---|').join('')}`, ...rows].join('\n')
}
