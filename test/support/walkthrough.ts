/** A page of Markdown whose commands are run as they are written. */
export interface Walkthrough {
  /** The files of its code blocks, by the name in their first line. */
  files: Record<string, string>
  steps: { commands: string; expected: string | undefined }[]
}

/**
 * Returns the blocks of code of a page. The text after a block of commands is its expected output; code of other
 * languages is a file, whose name is in its first comment.
 */
export function walkthroughOf(markdown: string): Walkthrough {
  const found: Walkthrough = { files: {}, steps: [] }
  for (const [, language, code = ''] of markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const step = found.steps.at(-1)
    if (language === 'sh') found.steps.push({ commands: code, expected: undefined })
    else if (language !== 'text') found.files[fileName(code)] = code
    else if (step && step.expected === undefined) step.expected = code.trim()
    else throw new Error(`no commands precede the output ${code}`)
  }
  return found
}

/** Returns the blocks of code of an HTML page as Markdown. */
export function codeOf(html: string): string {
  const blocks = [...html.matchAll(/<pre[^>]*><code class="language-(\w+)"[^>]*>([\s\S]*?)<\/code><\/pre>/g)]
  const names: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' }
  const text = (code: string) =>
    code.replace(/&(?:#(\d+)|(\w+));/g, (_, number, name) =>
      number ? String.fromCharCode(Number(number)) : (names[name] ?? ''),
    )
  return blocks.map(([, language, code = '']) => `\`\`\`${language}\n${text(code)}\`\`\`\n`).join('\n')
}

function fileName(code: string): string {
  const [, name] = /^(?:#!.*\n)?(?:#|\/\/) (\S+)\n/.exec(code) ?? []
  if (name === undefined) throw new Error(`the first comment names no file: ${code}`)
  return name
}

/** The end of the output of a step: a control character that no output contains. */
const end = '\u001e'

/** Returns one script for all steps, because later ones use the variables of earlier ones. */
export function scriptOf({ steps }: Walkthrough): string {
  return steps.map(({ commands }) => `${commands}printf '${end}'\n`).join('')
}

/** Returns the output of each step that was run to its end. */
export function outputsOf(stdout: string): string[] {
  return stdout
    .replaceAll('\r\n', '\n')
    .split(end)
    .slice(0, -1)
    .map((text) => text.trim())
}

/** Returns a pattern for an output: `…` is any text in a line, and alone in a line it is any lines. */
export function patternOf(expected: string): RegExp {
  const escaped = expected.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const lines = escaped.split('\n').map((line) => (line === '…' ? '[\\s\\S]*' : line.replaceAll('…', '.*')))
  return new RegExp(`^${lines.join('\n')}$`)
}
