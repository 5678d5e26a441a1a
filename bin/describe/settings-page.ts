import { readBase } from '#shared/settings/read-profile.ts'
import { register, type SettingKey } from '#shared/settings/register.ts'
import { kinds } from '#shared/settings/setting.ts'

const introductions: Record<(typeof kinds)[number], string> = {
  deployment: 'What only the operator of a stage knows. A profile says those that differ from the base.',
  product: 'What the API leaves open. Another value is another API for your callers.',
  tuning: 'Limits, pauses and sizes.',
}

const longest = 90

/** Returns docs/settings.md: every setting, by its kind, with its value in base-1. */
export function settingsPage(): string {
  const base = readBase('base-1')
  const sections = kinds.map((kind) => {
    const rows = (Object.keys(register) as SettingKey[])
      .filter((key) => register[key].kind === kind)
      .toSorted()
      .map((key) => `| \`${key}\` | ${cell(register[key].description)} | ${inBase(base, key)} |`)
    const title = `## ${kind[0]?.toUpperCase()}${kind.slice(1)}`
    return [
      title,
      '',
      introductions[kind],
      '',
      '| setting | meaning | `base-1` |',
      '|---|---|---|',
      ...rows,
    ].join('\n')
  })
  return `${head}\n${sections.join('\n\n')}\n`
}

const head = `# Settings

\`npm run generate\` writes this page from \`shared/settings/register/\` and \`shared/settings/base-1.json\`. [Profile](deployment.md#3-profile)
says how a profile extends a base. \`npx commerce profile check FILE --stage STAGE\` checks one.
`

function inBase(base: Record<string, unknown>, key: string): string {
  if (!Object.hasOwn(base, key)) return 'none'
  const text = JSON.stringify(base[key])
  return text.length <= longest ? `\`${cell(text)}\`` : '[in the file](../shared/settings/base-1.json)'
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}
