import ts from 'typescript'

/** The members of each type, by its name. The name of an optional member ends in `?`. */
export type ExportedTypes = Record<string, string[]>

/** Returns the types that a file exports, with the members of interfaces and classes. Inherited members of JavaScript are left out. */
export function exportedTypes(file: string): ExportedTypes {
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
  })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) throw new Error(`${file} exports nothing`)
  const isOurs = ({ declarations = [] }: ts.Symbol) =>
    declarations.some((one) => !program.isSourceFileDefaultLibrary(one.getSourceFile()))
  const members = (type: ts.Type) =>
    type.isClassOrInterface()
      ? type
          .getProperties()
          .filter(isOurs)
          .map(({ name, flags }) => (flags & ts.SymbolFlags.Optional ? `${name}?` : name))
      : []
  const types = checker.getExportsOfModule(module).filter(({ flags }) => flags & ts.SymbolFlags.Type)
  return Object.fromEntries(types.map((one) => [one.name, members(checker.getDeclaredTypeOfSymbol(one))]))
}
