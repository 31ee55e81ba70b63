// Command module writes a version of a module as a module proxy serves it, so that a folder is one:
// module REPOSITORY REVISION SUBFOLDER VERSION FOLDER.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "module REPOSITORY REVISION SUBFOLDER VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

// write puts list, and the version's info, mod and zip, into the folder, under the escaped path of
// the module. The files are those of the revision, as a proxy takes them from the repository.
func write(repository, revision, subfolder, version, folder string) error {
	file := filepath.ToSlash(filepath.Join(subfolder, "go.mod"))
	requirements, err := git(repository, "show", revision+":"+file)
	if err != nil {
		return err
	}
	path := modfile.ModulePath(requirements)
	if err := module.Check(path, version); err != nil {
		return err
	}
	escaped, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	versions := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	committed, err := git(repository, "log", "-1", "--format=%cI", revision)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(committed)))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": at.UTC().Format(time.RFC3339)})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info, version + ".mod": requirements,
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		return err
	}
	which := module.Version{Path: path, Version: version}
	if err := zip.CreateFromVCS(archive, which, repository, revision, subfolder); err != nil {
		return err
	}
	return archive.Close()
}

func git(repository string, arguments ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", repository}, arguments...)...)
	command.Stderr = os.Stderr
	return command.Output()
}
