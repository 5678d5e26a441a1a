import { Marked, type Tokens } from 'marked'

/**
 * Returns the HTML of a page in Markdown. Headings have the anchors of GitHub. Tables and code are regions that can be
 * scrolled by keyboard, and cells carry the name of their column for narrow screens.
 */
export async function htmlOf(markdown: string): Promise<string> {
  const anchors = distinctTexts('-')
  const labels = distinctTexts(' ')
  let heading = ''
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        heading = text.replaceAll('`', '')
        return `<h${depth} id="${anchors(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      image: ({ href, text }) =>
        scrollable(
          `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}">`,
          labels(`${heading}: picture`),
          'span',
        ),
      codespan: ({ text }) => codeOf(text),
      code({ text, lang = '' }) {
        const code = `<pre><code class="language-${escapeHtml(lang)}">${escapeHtml(text)}\n</code></pre>`
        return scrollable(code, labels(`${heading}: code`))
      },
      table({ header, rows }) {
        const inline = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
        const names = header.map(inline)
        return htmlTable(
          names,
          rows.map((row) => row.map(inline)),
          labels(`${heading}: table`),
        )
      },
    },
  })
  return marked.parse(markdown)
}

/** Returns a table in a region that can be scrolled. @param rows HTML of the cells */
export function htmlTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  label: string,
): string {
  const heads = names.map((name) => `<th scope="col">${name}</th>`).join('')
  const lines = rows.map((cells) => {
    const shown = cells.map((cell, at) => `<td data-column="${escapeHtml(names[at] ?? '')}">${cell}</td>`)
    return `<tr>${shown.join('')}</tr>`
  })
  const table = `<table><thead><tr>${heads}</tr></thead><tbody>\n${lines.join('\n')}\n</tbody></table>`
  return scrollable(table, label)
}

/** Returns code within a line. Its words with hyphens are elements, which do not break. */
function codeOf(text: string): string {
  const words = text.split(' ').map((word) => {
    const shown = escapeHtml(word)
    return word.includes('-') ? `<span>${shown}</span>` : shown
  })
  return `<code>${words.join(' ')}</code>`
}

function scrollable(html: string, label: string, name: 'div' | 'span' = 'div'): string {
  return `<${name} class="scroll" role="region" tabindex="0" aria-label="${escapeHtml(label)}">${html}</${name}>\n`
}

/** Returns the anchor that GitHub gives a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/** Returns a function that appends a number to a text that it has seen before. */
function distinctTexts(separator: string): (text: string) => string {
  const times = new Map<string, number>()
  return (text) => {
    const before = times.get(text) ?? 0
    times.set(text, before + 1)
    return before === 0 ? text : `${text}${separator}${before}`
  }
}
