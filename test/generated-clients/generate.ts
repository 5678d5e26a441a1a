import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe } from '@jest/globals'
import { output } from '#bin/local/prerequisites.ts'
import { hasJdk, mavenArtifacts } from '#test/support/java.ts'
import { pythonPackage } from '#test/support/python-package.ts'
import { runsAll } from '#test/support/runs.ts'
import { blocksOf } from '../end-to-end/checkout.ts'

const execute = promisify(execFile)
const here = import.meta.dirname
const root = join(here, '../..')
const cache = join(root, 'node_modules/.cache/generated-clients')
export const description = join(root, 'openapi.json')

/** What the generated Java client needs. */
const javaLibraries = [
  'com.squareup.okhttp3:okhttp:4.12.0',
  'com.squareup.okhttp3:logging-interceptor:4.12.0',
  'com.google.code.gson:gson:2.10.1',
  'io.gsonfire:gson-fire:1.9.0',
  'jakarta.annotation:jakarta.annotation-api:2.1.1',
]

interface GeneratedClient {
  /** The problems that the generator reports. */
  report: string
  /** Runs a program of this folder with the client. It reads JSON and prints JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each program has its own results
  use(program: string, input: object): Promise<any>
}

interface Language {
  /** Why this machine cannot use it, in one line; undefined if it can. */
  missing(): Promise<string | undefined>
  generate(): Promise<GeneratedClient>
}

/**
 * Returns `describe` with a title: if this machine lacks a program, the title says so and the tests are skipped.
 * @throws Error if a program is missing when all tests run
 */
export async function clientIn(name: keyof typeof languages): Promise<[typeof describe.skip, string]> {
  const missing = await languages[name].missing()
  const title = `a generated client in ${name}`
  if (missing === undefined) return [describe, title]
  const problem = `${title} is not tested: ${missing}`
  if (runsAll) throw new Error(problem)
  return [describe.skip, problem]
}

const missingJdk = async () => ((await hasJdk()) ? undefined : 'there is no JDK from 17 on')
const missingUnless = async (command: string, args: string[], present: RegExp, problem: string) =>
  (await missingJdk()) ?? (present.test(await output(command, args)) ? undefined : problem)

/** The languages and generators whose clients are tested. */
export const languages = {
  'Python by openapi-python-client': { missing: async () => undefined, generate: attrsClient },
  Python: { missing: missingJdk, generate: pythonClient },
  Java: { missing: missingJdk, generate: javaClient },
  Ruby: {
    missing: () =>
      missingUnless('ruby', ['-r', 'typhoeus', '-e', 'puts 1'], /1/, 'there is no Ruby with typhoeus'),
    generate: rubyClient,
  },
  PHP: {
    missing: () =>
      missingUnless(
        'php',
        ['-r', 'require "GuzzleHttp/autoload.php"; mb_strlen(""); echo PHP_VERSION;'],
        /^8\.[1-9]/,
        'there is no PHP from 8.1 on with Guzzle and mbstring',
      ),
    generate: phpClient,
  },
  Go: {
    missing: () => missingUnless('go', ['version'], /go1\.(2[3-9]|[3-9]\d)/, 'there is no Go from 1.23 on'),
    generate: goClient,
  },
} satisfies Record<string, Language>

/** The lines of the guide that generate clients. */
const [pythonLines = '', goLines = '', rubyLines = ''] = blocksOf(
  await readFile(join(root, 'bin/describe/reference/guide.md'), 'utf8'),
  'Clients',
)

async function attrsClient(): Promise<GeneratedClient> {
  const environment = await pythonPackage('openapi-python-client')
  const { folder, report } = await once('openapi-python-client', [pythonLines], (made) =>
    runLines(pythonLines, made, environment),
  )
  const client = join(folder, 'commerce-api-client')
  const python = join(environment, 'bin/python')
  return { report, use: (program, input) => run(python, [join(here, program)], { folder: client, ...input }) }
}

async function goClient(): Promise<GeneratedClient> {
  const source = join(here, 'additions.go')
  const { folder, report } = await once('go', [goLines, await readFile(source, 'utf8')], async (made) => {
    const log = await runLines(goLines, made, await generatorEnvironment())
    const programs = join(made, 'client/programs')
    await mkdir(programs)
    await copyFile(source, join(programs, 'additions.go'))
    await execute('go', ['build', '-o', made, './programs/additions.go'], { cwd: join(made, 'client') })
    return problemsOf(log)
  })
  return { report, use: (program, input) => run(join(folder, program.replace('.go', '')), [], input) }
}

/** Runs lines of the guide in a folder with the description, and returns what they print. */
async function runLines(lines: string, folder: string, environment: string): Promise<string> {
  await copyFile(description, join(folder, 'openapi.json'))
  const path = `${join(environment, 'bin')}:${process.env.PATH}`
  const env = { ...process.env, PATH: path, PIP_ROOT_USER_ACTION: 'ignore' }
  const { stdout, stderr } = await execute('bash', ['-e', '-c', lines], {
    cwd: folder,
    env,
    maxBuffer: 2 ** 26,
  })
  return stdout + stderr
}

async function pythonClient(): Promise<GeneratedClient> {
  const { folder, report } = await generated('python', [])
  const python = join(await generatorEnvironment(), 'bin/python')
  return { report, use: (program, input) => run(python, [join(here, program)], { folder, ...input }) }
}

async function rubyClient(): Promise<GeneratedClient> {
  const { folder, report } = await once('ruby', [rubyLines], async (made) =>
    problemsOf(await runLines(rubyLines, made, await generatorEnvironment())),
  )
  const client = join(folder, 'client')
  return { report, use: (program, input) => run('ruby', [join(here, program)], { folder: client, ...input }) }
}

async function phpClient(): Promise<GeneratedClient> {
  const { folder, report } = await generated('php', [])
  return { report, use: (program, input) => run('php', [join(here, program)], { folder, ...input }) }
}

async function javaClient(): Promise<GeneratedClient> {
  const libraries = join(await mavenArtifacts('generated-java-client', javaLibraries), '*')
  const packages =
    'library=okhttp-gson,invokerPackage=commerce,apiPackage=commerce.api,modelPackage=commerce.model'
  const forms = 'useJakartaEe=true,openApiNullable=false,useSingleRequestParameter=true'
  const options = ['--additional-properties', `${packages},${forms}`]
  const program = join(here, 'Additions.java')
  const { folder, report } = await generated(
    'java',
    options,
    await readFile(program, 'utf8'),
    async (made) => {
      const sources = join(made, 'src/main/java')
      const apis = join(sources, 'commerce/api')
      const files = [program, ...(await readdir(apis)).map((file) => join(apis, file))]
      // With the names of parameters, which the programs read.
      const flags = ['-nowarn', '-parameters', '-sourcepath', sources, '-cp', libraries]
      await execute('javac', [...flags, '-d', join(made, 'classes'), ...files])
    },
  )
  const classpath = `${join(folder, 'classes')}:${libraries}`
  return {
    report,
    use: (program, input) => run('java', ['-cp', classpath, program.replace('.java', '')], input),
  }
}

/**
 * Generates a client with OpenAPI Generator.
 * @param source the program that uses it
 * @param build compiles it in its folder, together with the program
 */
async function generated(
  language: string,
  options: string[],
  source = '',
  build: (folder: string) => Promise<void> = async () => {},
): Promise<{ folder: string; report: string }> {
  const program = join(await generatorEnvironment(), 'bin/openapi-generator-cli')
  return once(language, [goLines, ...options, source], async (folder) => {
    const parts = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'
    const args = ['generate', '-g', language, '-i', description, '-o', folder, '--global-property', parts]
    const { stdout, stderr } = await execute(program, [...args, ...options], { maxBuffer: 2 ** 26 })
    await build(folder)
    return problemsOf(stdout + stderr)
  })
}

/** Returns the lines of errors. Warnings are about names that it replaces and about OpenAPI 3.1. */
function problemsOf(log: string): string {
  return log
    .split('\n')
    .filter((line) => /\bERROR\b/.test(line))
    .join('\n')
}

/** Returns the virtual environment of OpenAPI Generator, with the libraries of the client in Python. */
function generatorEnvironment(): Promise<string> {
  return pythonPackage('openapi-generator-cli')
}

/** Makes a folder in the cache for each description and inputs. Test files that run at the same time may both make it. */
async function once(
  name: string,
  inputs: string[],
  make: (folder: string) => Promise<string>,
): Promise<{ folder: string; report: string }> {
  const texts = [await readFile(description, 'utf8'), ...inputs]
  const version = createHash('sha256').update(texts.join()).digest('hex').slice(0, 16)
  const folder = join(cache, `${name}-${version}`)
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true })
    const draft = await mkdtemp(join(cache, 'draft-'))
    try {
      await writeFile(join(draft, 'report.txt'), await make(draft))
      await rename(draft, folder).catch((failure) => {
        if (!existsSync(folder)) throw failure
      })
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }
  return { folder, report: await readFile(join(folder, 'report.txt'), 'utf8') }
}

async function run(command: string, args: string[], input: object): Promise<unknown> {
  const running = execute(command, args, { maxBuffer: 2 ** 26 })
  running.child.stdin?.end(JSON.stringify(input))
  return JSON.parse((await running).stdout)
}
