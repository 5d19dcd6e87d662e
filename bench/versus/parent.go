package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// process is a child from the parent's side.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	enc   *json.Encoder
	dec   *json.Decoder
	ready answer
}

// start runs a child and waits until its table is full. Only then is it
// stopped, until its first lap.
func start(a assignment) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(exe, "-child", string(data))}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.enc, p.dec = json.NewEncoder(p.stdin), json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if p.ready, err = p.read(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, p.cmd.Process.Signal(syscall.SIGSTOP)
}

// lap wakes the child for one lap. All the others stay stopped, with their
// tickers and their garbage collectors.
func (p *process) lap(cores int) (answer, error) {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return answer{}, err
	}
	if err := p.enc.Encode(command{Cores: cores}); err != nil {
		return answer{}, err
	}
	a, err := p.read()
	if err != nil {
		return a, err
	}
	return a, p.cmd.Process.Signal(syscall.SIGSTOP)
}

func (p *process) read() (answer, error) {
	var a answer
	if err := p.dec.Decode(&a); err != nil {
		return a, fmt.Errorf("a contestant's process ended: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// close ends the child, which ends when its input does.
func (p *process) close() error {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.stdin.Close()
	return p.cmd.Wait()
}
