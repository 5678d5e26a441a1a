import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import ts from 'typescript'

const root = join(import.meta.dirname, '../..')
const markdownIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
const pages = [
  'README.md',
  'client/README.md',
  ...markdownIn('docs'),
  ...markdownIn('bin/describe/reference'),
]

/** What a sample uses of the program around it. */
const surroundings = `
declare const session: { accessToken(): Promise<string> }
declare const codeId: string
declare function showTheNewState(): void
`

function blocksIn(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  )
}

/** The samples by the name of a file in the root, where they can import what the pages name. */
const samples = new Map(
  pages.flatMap((page) =>
    blocksIn(page, 'ts').map((code, number): [string, string] => {
      // The package has this name where it is installed.
      const text = code.replace("'commerce-client'", "'./client/commerce-client.ts'")
      // A sample whose first line is the path of a new file is compiled there.
      const [, file = `${page.replaceAll('/', '-')}-${number + 1}.ts`] =
        /^ *\/\/ ([\w-]+\/\S+\.ts)$/m.exec(text) ?? []
      return [join(root, file), `${text}${surroundings}`]
    }),
  ),
)

/** Returns what the compiler reports of the samples, in one program for all. */
function problems(): string[] {
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
    ...{ target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.NodeNext, types: ['node'] },
    ...{
      lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => samples.has(file) || fileExists(file)
  const folders = new Set([...samples.keys()].map((file) => dirname(file)))
  host.directoryExists = (folder) => folders.has(folder) || ts.sys.directoryExists(folder)
  host.readFile = (file) => samples.get(file) ?? readFile(file)
  host.getSourceFile = (file, version, ...rest) => {
    const text = samples.get(file)
    return text === undefined
      ? getSourceFile(file, version, ...rest)
      : ts.createSourceFile(file, text, version)
  }
  const program = ts.createProgram([...samples.keys()], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    return `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

test('the pages have samples in TypeScript', () => {
  expect(samples.size).toBeGreaterThanOrEqual(2)
})

test('every sample in TypeScript compiles with --strict', () => {
  expect(problems()).toEqual([])
})

const shell = pages.flatMap((page) =>
  blocksIn(page, 'sh').map((code, number) => [page, number + 1, code] as const),
)

test.each(shell)('a shell reads the sample of %s: %d', (_page, _number, code) => {
  expect(spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' }).stderr).toBe('')
})

test('the samples of the served pages are in the guide and the walkthroughs, which run', () => {
  const others = markdownIn('bin/describe/reference').filter((page) => blocksIn(page, 'sh').length > 0)
  expect(others).toEqual(['bin/describe/reference/guide.md'])
})
